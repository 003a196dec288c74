-- Claims messages: $1 the worker, $2 how many at most, $3 the lease in milliseconds. One statement, one
-- commit. Of each aggregate only the first that is not delivered counts, dead or not; they are visited
-- in the order of their names, $5 of them after $4, so that neither a long queue of one aggregate nor
-- many aggregates that cannot go on cost more than that. Ordered and other messages get equal shares.
--
-- Returns the last aggregate that was visited and how many were, and with them the messages, if any, and
-- the moment: what became due after it was not seen.
WITH RECURSIVE moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now, nextval('oncekey.outbox_claims') AS claim
), heads AS (
  SELECT first.id, first.aggregate, 1::bigint AS step
  FROM (SELECT o.id, o.aggregate FROM oncekey.outbox o
        WHERE o.aggregate > $4::text AND o.aggregate <> '' AND o.state < 2
        ORDER BY o.aggregate, o.id LIMIT 1) first
  UNION ALL
  SELECT next.id, next.aggregate, before.step + 1
  FROM heads before
  CROSS JOIN LATERAL (
    SELECT o.id, o.aggregate FROM oncekey.outbox o
    WHERE o.aggregate > before.aggregate AND o.aggregate <> '' AND o.state < 2
    ORDER BY o.aggregate, o.id LIMIT 1
  ) next
  WHERE before.step < $5::bigint
), ordered AS MATERIALIZED (
  SELECT o.ctid AS place, h.step, o.claim <> 0 AS taken_over
  FROM heads h CROSS JOIN moment m
  CROSS JOIN LATERAL (
    SELECT found.ctid, found.claim FROM oncekey.outbox found
    WHERE found.id = h.id AND found.state = 0 AND found.due_at <= m.now
      AND found.lease_until <= m.now
    FOR UPDATE SKIP LOCKED
  ) o
  LIMIT $2::bigint
), others AS MATERIALIZED (
  SELECT o.ctid AS place, o.claim <> 0 AS taken_over
  FROM moment m
  CROSS JOIN LATERAL (
    SELECT found.ctid, found.claim FROM oncekey.outbox found
    WHERE found.state = 0 AND found.aggregate = '' AND found.due_at <= m.now
      AND found.lease_until <= m.now
    ORDER BY found.due_at, found.id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
  ) o
), chosen AS MATERIALIZED (
  SELECT both_kinds.place, both_kinds.taken_over
  FROM (SELECT place, taken_over, row_number() OVER () AS rank FROM ordered
        UNION ALL
        SELECT place, taken_over, row_number() OVER () AS rank FROM others) both_kinds
  ORDER BY both_kinds.rank LIMIT $2::bigint
), claimed AS (
  UPDATE oncekey.outbox target
    SET claim = m.claim, lease_until = m.now + $3::bigint * interval '1 millisecond',
        attempt = target.attempt + 1, owner = $1::text
    FROM chosen, moment m WHERE target.ctid = chosen.place
    RETURNING target.id, target.claim, target.attempt, target.created_at, target.destination,
              target.message_key, target.aggregate, target.provider_id, target.headers,
              target.payload, chosen.taken_over
)
SELECT visited.last_one, visited.number, claimed.*, moment.now
FROM moment
CROSS JOIN (SELECT coalesce(max(aggregate), '') AS last_one, count(*) AS number FROM heads) visited
LEFT JOIN claimed ON true
ORDER BY claimed.id
