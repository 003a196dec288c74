-- By when a message without order is due next, as one that was put off or one whose claim runs out ($1 of
-- them are looked at), after the moment $2 of the last claim; that may be over by now. Null: none is known.
SELECT m.now,
       least((SELECT min(claimed.lease_until)
              FROM (SELECT o.lease_until FROM oncekey.outbox o
                    WHERE o.state = 0 AND o.aggregate = '' AND o.due_at <= m.looked_at
                    ORDER BY o.due_at, o.id LIMIT $1::bigint) claimed
              WHERE claimed.lease_until > m.looked_at),
             (SELECT o.due_at FROM oncekey.outbox o
              WHERE o.state = 0 AND o.aggregate = '' AND o.due_at > m.looked_at
              ORDER BY o.due_at, o.id LIMIT 1))
FROM (SELECT c.now, coalesce($2::timestamptz, c.now) AS looked_at
      FROM (SELECT oncekey.clock() AS now OFFSET 0) c OFFSET 0) m
