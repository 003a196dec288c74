-- A batch of reservations, one element of each array for a record: one statement, one commit, one round
-- trip. Of a column in which all records agree, the first element is enough. Returns the keys that were
-- absent and are reserved now, and where their rows lie; then their hold. postgres_look.sql shows the
-- others.
--
-- The caller passes the elements sorted by scope and key and names no record twice, so that two batches
-- do not wait for each other in a circle. For a settlement that is being committed it waits; settlements
-- wait for no reservation.
WITH made AS (
  INSERT INTO oncekey.records AS target
         (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt, scope,
          key, fingerprint, method, path, owner)
  SELECT m.now, m.now + coalesce(w.lease_ms * interval '1 millisecond', m.lease),
         m.now + coalesce(w.retention_ms * interval '1 millisecond', m.retention), w.fence,
         coalesce(w.retention_ms, m.retention_ms), coalesce(w.tombstone_ms, m.tombstone_ms),
         'in_progress', 1, coalesce(w.scope, m.scope), w.key, w.fingerprint,
         coalesce(w.method, m.method), coalesce(w.path, m.path), coalesce(w.owner, m.owner)
  FROM (SELECT oncekey.clock() AS now, ($5::bigint[])[1] * interval '1 millisecond' AS lease,
               ($6::bigint[])[1] * interval '1 millisecond' AS retention,
               ($6::bigint[])[1] AS retention_ms, ($7::bigint[])[1] AS tombstone_ms,
               ($1::text[])[1] AS scope, ($8::text[])[1] AS method, ($9::text[])[1] AS path,
               ($10::text[])[1] AS owner
        OFFSET 0) m,
       unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::text[], $9::text[], $10::text[])
       AS w (scope, key, fingerprint, fence, lease_ms, retention_ms, tombstone_ms, method, path,
             owner)
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING target.fence, target.due_at, target.ctid AS place
), held AS (
  -- It names the others, too: a sweeper finds that they are not in progress, or somebody else's.
  INSERT INTO oncekey.holds (lease_until, scopes, keys)
  SELECT min(due_at), CASE cardinality($1::text[])
                        WHEN cardinality($2::text[]) THEN $1::text[]
                        ELSE array_fill(($1::text[])[1], ARRAY[cardinality($2::text[])]) END, $2::text[]
  FROM made HAVING count(*) > 0
  RETURNING ctid AS place, lease_until, xmin::text AS made_by
)
SELECT place, due_at, fence, NULL AS made_by FROM made
UNION ALL SELECT place, lease_until, NULL, made_by FROM held
