-- A batch: reservations ($1 to $10) and settlements ($11 to $21), one element of each array for a record.
-- One statement, one commit, one round trip.
--
-- The caller passes the elements sorted by scope and key and names no record twice, so that two batches
-- do not wait for each other in a circle; a record that is there already is not inserted, so that a
-- duplicate does not wait for the settlement of the first.
--
-- Part 1, reserved: the keys that were absent (taken), and the records of those that were not, as this
-- statement's snapshot shows them. A key that is in neither way in the result is being changed by
-- someone else: oncekey.reserve_one() decides it. Part 2, settled: what had the right fence; of the rest
-- oncekey.settle_again() says why. The rules are those of oncekey.settle_held(): an extended lease is a
-- settlement as in_progress.
WITH moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now
),
looked AS MATERIALIZED (
  SELECT w.*, r.*
  FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::text[], $9::text[], $10::text[])
       AS w (scope, key, sent_fingerprint, sent_fence, lease_ms, sent_retention_ms,
             sent_tombstone_ms, method, path, owner)
  LEFT JOIN LATERAL (
    SELECT found.due_at, found.state, found.fence, found.attempt, found.completed_at,
           found.retention_ms, found.tombstone_ms, found.fingerprint, found.response_status,
           found.response_schema, found.response_encoding, found.response_headers,
           found.response_body
    FROM oncekey.records found
    WHERE found.scope = w.scope AND found.key = w.key
    OFFSET 0
  ) r ON true
),
made AS (
  INSERT INTO oncekey.records AS target
         (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt, scope,
          key, fingerprint, method, path, owner)
  SELECT m.now, m.now + l.lease_ms * interval '1 millisecond',
         m.now + l.sent_retention_ms * interval '1 millisecond', l.sent_fence,
         l.sent_retention_ms, l.sent_tombstone_ms, 'in_progress', 1, l.scope, l.key,
         l.sent_fingerprint, l.method, l.path, l.owner
  FROM moment m, looked l
  WHERE l.fence IS NULL
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING target.fence, target.due_at, target.scope, target.key
),
held AS (
  INSERT INTO oncekey.holds (lease_until, scopes, keys)
  SELECT min(due_at), array_agg(scope), array_agg(key) FROM made HAVING count(*) > 0
),
settled AS (
  UPDATE oncekey.records target
    SET state = s.state,
        due_at = s.now + CASE WHEN s.state IN ('completed', 'failed_retryable')
                              THEN target.retention_ms ELSE s.delay_ms END * interval '1 millisecond',
        shelf = CASE s.state WHEN 'failed_retryable' THEN 1 WHEN 'unknown' THEN 2 ELSE 0 END,
        shelf_until = CASE s.state
                        WHEN 'failed_retryable'
                        THEN s.now + target.retention_ms * interval '1 millisecond'
                        WHEN 'unknown' THEN 'infinity'
                        ELSE target.shelf_until END,
        completed_at = CASE WHEN s.state = 'completed' THEN s.now END,
        last_error = CASE s.state WHEN 'completed' THEN '' WHEN 'in_progress' THEN target.last_error
                                  ELSE s.error END,
        response_status = s.status, response_schema = s.schema, response_encoding = s.encoding,
        response_headers = s.headers::text[], response_body = s.body
    FROM (
      SELECT m.now, w.fence, w.state, w.error, w.delay_ms, w.status, w.schema, w.encoding,
             w.headers, w.body, r.place
      FROM moment m,
           unnest($11::text[], $12::text[], $13::bigint[], $14::text[]::oncekey.state[],
                  $15::text[], $16::bigint[], $17::integer[], $18::smallint[], $19::smallint[],
                  $20::text[], $21::bytea[])
           AS w (scope, key, fence, state, error, delay_ms, status, schema, encoding, headers, body)
      CROSS JOIN LATERAL (
        SELECT found.ctid AS place FROM oncekey.records found
        WHERE found.scope = w.scope AND found.key = w.key
        OFFSET 0
      ) r
    ) s
    WHERE target.ctid = s.place AND target.fence = s.fence AND target.state = 'in_progress'
    RETURNING target.fence, target.due_at
)
SELECT 1, fence, true, NULL::timestamptz, due_at, NULL::text, 0::bigint, 0, NULL::timestamptz,
       0::bigint, 0::bigint, NULL::bytea, NULL::integer, NULL::smallint, NULL::smallint,
       NULL::text[], NULL::bytea
FROM made
UNION ALL
SELECT 1, sent_fence, false, now, due_at, state::text, fence, attempt, completed_at, retention_ms,
       tombstone_ms, fingerprint, response_status, response_schema, response_encoding,
       response_headers, response_body
FROM looked, moment WHERE fence IS NOT NULL
UNION ALL
SELECT 2, fence, true, NULL, due_at, NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM settled
