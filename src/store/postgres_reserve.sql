-- A batch of reservations, one element of each array for a record: one statement, one commit, one round
-- trip. Returns the keys that were absent and are reserved now, where their rows lie, and their hold;
-- postgres_look.sql shows the others.
--
-- The caller passes the elements sorted by scope and key and names no record twice, so that two batches
-- do not wait for each other in a circle. For a settlement that is being committed it waits; settlements
-- wait for no reservation.
WITH made AS (
  INSERT INTO oncekey.records AS target
         (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt, scope,
          key, fingerprint, method, path, owner)
  SELECT m.now, m.now + w.lease_ms * interval '1 millisecond',
         m.now + w.retention_ms * interval '1 millisecond', w.fence, w.retention_ms,
         w.tombstone_ms, 'in_progress', 1, w.scope, w.key, w.fingerprint, w.method, w.path, w.owner
  FROM (SELECT oncekey.clock() AS now OFFSET 0) m,
       unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::text[], $9::text[], $10::text[])
       AS w (scope, key, fingerprint, fence, lease_ms, retention_ms, tombstone_ms, method, path,
             owner)
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING target.fence, target.due_at, target.scope, target.key, target.ctid AS place
), held AS (
  INSERT INTO oncekey.holds (lease_until, scopes, keys)
  SELECT min(due_at), array_agg(scope), array_agg(key) FROM made HAVING count(*) > 0
  RETURNING ctid AS place, lease_until, xmin::text AS made_by
)
SELECT made.fence, made.due_at, made.place, held.place, held.lease_until, held.made_by FROM made, held
