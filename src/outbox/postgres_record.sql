-- Records outcomes, one element of each array for a message: one statement, one commit. `kind` is 0
-- delivered, 1 to be tried again, 2 dead, 3 not tried. Returns the messages whose claim was still held;
-- nothing is changed for the others.
WITH moment AS MATERIALIZED (
  SELECT oncekey.clock() AS now
)
UPDATE oncekey.outbox target
  SET state = CASE s.kind WHEN 0 THEN 2 WHEN 2 THEN 1 ELSE 0 END,
      due_at = CASE WHEN s.kind IN (1, 3) AND s.delay_ms > 0
                    THEN s.now + s.delay_ms * interval '1 millisecond' ELSE target.due_at END,
      delivered_at = CASE WHEN s.kind = 0 THEN s.now END,
      provider_id = CASE WHEN s.kind = 0 AND s.said <> '' THEN s.said ELSE target.provider_id END,
      last_error = CASE WHEN s.kind IN (1, 2) THEN s.said ELSE target.last_error END,
      attempt = CASE WHEN s.kind = 3 THEN target.attempt - 1 ELSE target.attempt END,
      claim = 0, lease_until = '-infinity', owner = ''
  FROM (
    SELECT m.now, w.claim, w.kind, w.said, w.delay_ms, r.place
    FROM moment m,
         unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::text[], $5::bigint[])
         AS w (id, claim, kind, said, delay_ms)
    CROSS JOIN LATERAL (
      SELECT found.ctid AS place FROM oncekey.outbox found WHERE found.id = w.id OFFSET 0
    ) r
  ) s
  WHERE target.ctid = s.place AND target.claim = s.claim AND target.state = 0
  RETURNING target.id
