-- What postgres_settle.sql does, at less cost to the server, for a batch of which all are completed and
-- the place of each row is known: nearly every one. Of headers in which all answers agree, the first
-- element is enough.
WITH moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now
)
UPDATE oncekey.records target
  SET state = 'completed', shelf = 0, last_error = '', completed_at = (SELECT now FROM moment),
      due_at = (SELECT now FROM moment) + target.retention_ms * interval '1 millisecond',
      response_status = w.form & 65535, response_schema = (w.form >> 16 & 255)::smallint,
      response_encoding = (w.form >> 24)::smallint,
      response_headers = CASE WHEN w.form IS NOT NULL
                              THEN coalesce(w.headers::text[], (SELECT ($4::text[])[1]::text[])) END,
      response_body = w.body
  FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::text[], $5::bytea[], $6::tid[])
       AS w (key, fence, form, headers, body, place)
  WHERE target.ctid = w.place AND target.fence = w.fence AND target.state = 'in_progress'
    AND target.key IS NOT DISTINCT FROM w.key
  RETURNING target.fence, target.due_at
