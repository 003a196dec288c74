-- What postgres_settle.sql does, for a batch of which all are completed and the place of each row is
-- known: nearly every one. It costs the server a fifth less.
WITH moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now
)
UPDATE oncekey.records target
  SET state = 'completed', due_at = m.now + target.retention_ms * interval '1 millisecond', shelf = 0,
      completed_at = m.now, last_error = '',
      response_status = w.status, response_schema = w.schema, response_encoding = w.encoding,
      response_headers = w.headers::text[], response_body = w.body
  FROM moment m,
       unnest($1::text[], $2::bigint[], $3::integer[], $4::smallint[], $5::smallint[], $6::text[],
              $7::bytea[], $8::tid[])
       AS w (key, fence, status, schema, encoding, headers, body, place)
  WHERE target.ctid = w.place AND target.fence = w.fence AND target.state = 'in_progress'
    AND target.key IS NOT DISTINCT FROM w.key
  RETURNING target.fence, target.due_at
