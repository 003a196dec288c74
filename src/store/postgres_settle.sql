-- A batch of settlements, one element of each array for a record: one statement, one commit, one round
-- trip. An extended lease is a settlement as in_progress. Returns what had the right fence; of the rest
-- oncekey.settle_again() says why. The rules are those of oncekey.settle_held().
--
-- The caller names no record twice. Where it knows the place of a row it says so, and nothing has to be
-- looked for; a row that has moved since is not returned.
WITH moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now
)
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
      response_status = s.form & 65535, response_schema = (s.form >> 16 & 255)::smallint,
      response_encoding = (s.form >> 24)::smallint, response_headers = s.headers::text[],
      response_body = s.body,
      history = CASE WHEN s.state IN ('failed_retryable', 'unknown')
                     THEN oncekey.noted(target.history, target.created_at, target.attempt,
                                        target.owner, s.now, s.state, target.attempt, target.owner,
                                        s.error)
                     ELSE target.history END
  FROM (
    SELECT m.now, w.fence, w.state, w.error, w.delay_ms, w.form, w.headers, w.body, w.key,
           coalesce(w.place, (SELECT found.ctid FROM oncekey.records found
                              WHERE found.scope = w.scope AND found.key = w.key)) AS place
    FROM moment m,
         unnest($1::text[], $2::text[], $3::bigint[], $4::text[]::oncekey.state[],
                $5::text[], $6::bigint[], $7::integer[], $8::text[], $9::bytea[], $10::tid[])
         AS w (scope, key, fence, state, error, delay_ms, form, headers, body, place)
    OFFSET 0
  ) s
  -- Written so that the key is only compared: by place there is nothing to look for.
  WHERE target.ctid = s.place AND target.fence = s.fence AND target.state = 'in_progress'
    AND target.key IS NOT DISTINCT FROM s.key
  RETURNING target.fence, target.due_at
