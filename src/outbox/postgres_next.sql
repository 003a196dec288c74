-- By when a message without order is due next: one whose claim runs out ($1 of them are looked at), or
-- one that was put off. Null: none is known. What is due now has been claimed by then.
SELECT m.now,
       least((SELECT min(claimed.lease_until)
              FROM (SELECT o.lease_until FROM oncekey.outbox o
                    WHERE o.state = 0 AND o.aggregate = '' AND o.due_at <= m.now
                    ORDER BY o.due_at, o.id LIMIT $1::bigint) claimed
              WHERE claimed.lease_until > m.now),
             (SELECT o.due_at FROM oncekey.outbox o
              WHERE o.state = 0 AND o.aggregate = '' AND o.due_at > m.now
              ORDER BY o.due_at, o.id LIMIT 1))
FROM (SELECT oncekey.clock() AS now OFFSET 0) m
