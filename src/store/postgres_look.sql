-- The records that reservations met, by the fences they were sent with. A record that is missing here
-- has gone meanwhile, or is not committed yet: oncekey.reserve_one() decides about it.
SELECT w.fence, m.now, r.due_at, r.state::text, r.fence, r.attempt, r.completed_at, r.retention_ms,
       r.tombstone_ms, r.fingerprint, r.response_status, r.response_schema, r.response_encoding,
       r.response_headers, r.response_body
FROM (SELECT oncekey.clock() AS now OFFSET 0) m,
     unnest($1::text[], $2::text[], $3::bigint[]) AS w (scope, key, fence)
CROSS JOIN LATERAL (
  SELECT found.* FROM oncekey.records found
  WHERE found.scope = w.scope AND found.key = w.key
  OFFSET 0
) r
