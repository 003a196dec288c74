-- How much waits, how much is dead, and the age in milliseconds of the oldest that waits. More than $1
-- of a kind counts as $1: counting must not cost what delivering does.
SELECT w.number, d.number, w.age_ms
FROM (SELECT oncekey.clock() AS now OFFSET 0) m
CROSS JOIN LATERAL (
  SELECT count(*) AS number,
         coalesce(extract(epoch FROM m.now - min(waiting.created_at)) * 1000, 0)::bigint AS age_ms
  FROM (
    (SELECT o.created_at FROM oncekey.outbox o WHERE o.state = 0 AND o.aggregate = ''
     ORDER BY o.due_at, o.id LIMIT $1::bigint)
    UNION ALL
    (SELECT o.created_at FROM oncekey.outbox o
     WHERE o.aggregate <> '' AND o.state < 2 AND o.state = 0 LIMIT $1::bigint)
  ) waiting
) w
CROSS JOIN LATERAL (
  SELECT count(*) AS number
  FROM (SELECT FROM oncekey.outbox o WHERE o.state = 1 LIMIT $1::bigint) dead
) d
