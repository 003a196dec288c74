-- The records of idempotency keys, and the functions that change them.
--
-- Every rule is that of the state machine in src/boundary/decide.h. The functions whose names end in
-- _batch take arrays, one element a record, and change all of them in one statement and one commit.
-- Their callers pass the elements sorted by scope and key and name no record twice, so that two
-- batches never wait for each other in a circle.
--
-- None of them relies on the planner knowing the table: a plan made while it is empty is still in
-- use when it has a hundred million rows. So each record is looked up by itself (LATERAL … OFFSET 0)
-- through the primary key, and joins that read whole tables are switched off.

CREATE TYPE oncekey.state AS ENUM
  ('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired');

CREATE TABLE oncekey.records (
  created_at        timestamptz NOT NULL,
  -- When the record is next looked at: in_progress: the end of the lease; unknown: not before this is
  -- it worth asking again; completed and failed_retryable: the end of retention; expired: the end of
  -- the tombstone.
  due_at            timestamptz NOT NULL,
  completed_at      timestamptz,
  fence             bigint NOT NULL,
  retention_ms      bigint NOT NULL,
  tombstone_ms      bigint NOT NULL,
  state             oncekey.state NOT NULL,
  attempt           integer NOT NULL,
  -- Null in a completed record: the answer was too large to keep.
  response_status   integer,
  response_schema   smallint,
  response_encoding smallint,       -- of the body: 0 as it is, 1 zstd
  scope             text COLLATE "C" NOT NULL,
  key               text COLLATE "C" NOT NULL,
  fingerprint       bytea NOT NULL,
  method            text NOT NULL,
  path              text NOT NULL,
  owner             text NOT NULL,
  recovery_point    text NOT NULL DEFAULT '',
  last_error        text NOT NULL DEFAULT '',
  phase_data        jsonb,
  response_headers  text[],         -- name, value, name, value, …
  response_body     bytea,
  PRIMARY KEY (scope, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Sweeping (in_progress), reaping (completed, failed_retryable, expired), reconciling (unknown).
CREATE INDEX records_due ON oncekey.records (state, due_at);

COMMENT ON TABLE oncekey.records IS
  'One row for each idempotency key. Change it only through the functions of this schema.';
COMMENT ON COLUMN oncekey.records.scope IS 'The tenant. A backslash stands doubled; bytes that are not text as \nnn.';
COMMENT ON COLUMN oncekey.records.key IS 'The key as the client sent it, written as the scope is.';
COMMENT ON COLUMN oncekey.records.fence IS 'Identifies one hold on the record; a settlement with an older one changes nothing.';

-- What all nodes have in common: the secret, or the name of the one that they share.
CREATE TABLE oncekey.settings (
  name  text PRIMARY KEY,
  value text NOT NULL
);

-- The one clock: leases and retention never use that of a client.
CREATE FUNCTION oncekey.clock() RETURNS timestamptz
  LANGUAGE sql VOLATILE PARALLEL SAFE
  AS $$ SELECT date_trunc('milliseconds', clock_timestamp()) $$;

CREATE FUNCTION oncekey.later(moment timestamptz, milliseconds bigint) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT moment + milliseconds * interval '1 millisecond' $$;

-- A fence that no other hold has: 61 random bits.
CREATE FUNCTION oncekey.new_fence() RETURNS bigint
  LANGUAGE sql VOLATILE PARALLEL SAFE
  AS $$
    SELECT ('x' || right(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint
           & 9223372036854775807
  $$;

-- Past retention and past its tombstone: as good as absent.
CREATE FUNCTION oncekey.is_gone(state oncekey.state, due_at timestamptz, tombstone_ms bigint,
                                moment timestamptz) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$
    SELECT CASE state
      WHEN 'completed' THEN moment >= oncekey.later(due_at, tombstone_ms)
      WHEN 'failed_retryable' THEN moment >= due_at
      WHEN 'expired' THEN moment >= due_at
      ELSE false
    END
  $$;

-- Reserves the keys that are absent, and shows the records of those that are not. A key that is in
-- neither way in the result is being changed by someone else, or its record must change first
-- (failed_retryable, gone): reserve_one() decides it. `wanted` is the fence that was passed.
CREATE FUNCTION oncekey.reserve_batch(
    scopes text[], keys text[], fingerprints bytea[], fences bigint[], leases_ms bigint[],
    retentions_ms bigint[], tombstones_ms bigint[], methods text[], paths text[], owners text[])
  RETURNS TABLE (wanted bigint, taken boolean, moment timestamptz, due_at timestamptz,
                 state oncekey.state, fence bigint, attempt integer, completed_at timestamptz,
                 retention_ms bigint, tombstone_ms bigint, fingerprint bytea,
                 response_status integer, response_schema smallint, response_encoding smallint,
                 response_headers text[], response_body bytea)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  WITH looked AS MATERIALIZED (
    SELECT w.scope, w.key, w.fingerprint AS sent_fingerprint, w.fence AS sent_fence, w.lease_ms,
           w.sent_retention_ms, w.sent_tombstone_ms, w.method, w.path, w.owner, r.*
    FROM unnest(scopes, keys, fingerprints, fences, leases_ms, retentions_ms, tombstones_ms,
                methods, paths, owners)
         AS w (scope, key, fingerprint, fence, lease_ms, sent_retention_ms, sent_tombstone_ms,
               method, path, owner)
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
           (created_at, due_at, fence, retention_ms, tombstone_ms, state, attempt, scope, key,
            fingerprint, method, path, owner)
    SELECT now_is, oncekey.later(now_is, l.lease_ms), l.sent_fence, l.sent_retention_ms,
           l.sent_tombstone_ms, 'in_progress', 1, l.scope, l.key, l.sent_fingerprint, l.method,
           l.path, l.owner
    FROM looked l
    WHERE l.fence IS NULL
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING target.fence, target.due_at
  )
  SELECT m.fence, true, now_is, m.due_at, 'in_progress'::oncekey.state, m.fence, 1, NULL::timestamptz,
         0::bigint, 0::bigint, NULL::bytea, NULL::integer, NULL::smallint, NULL::smallint,
         NULL::text[], NULL::bytea
  FROM made m
  UNION ALL
  SELECT l.sent_fence, false, now_is, l.due_at, l.state, l.fence, l.attempt, l.completed_at,
         l.retention_ms, l.tombstone_ms, l.fingerprint, l.response_status, l.response_schema,
         l.response_encoding, l.response_headers, l.response_body
  FROM looked l
  WHERE l.fence IS NOT NULL;
END
$$;

-- One reservation, with everything that can happen to it. Also recognises its own fence: a caller
-- that lost its connection passes the same one again. What it then finds is written anew, so that it
-- is as durable (and replicated) as a new reservation.
CREATE FUNCTION oncekey.reserve_one(
    the_scope text, the_key text, the_fingerprint bytea, the_fence bigint, lease_ms bigint,
    the_retention_ms bigint, the_tombstone_ms bigint, the_method text, the_path text,
    the_owner text, OUT taken boolean, OUT moment timestamptz, OUT record oncekey.records)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
BEGIN
  LOOP
    moment := oncekey.clock();
    INSERT INTO oncekey.records AS target
           (created_at, due_at, fence, retention_ms, tombstone_ms, state, attempt, scope, key,
            fingerprint, method, path, owner)
    VALUES (moment, oncekey.later(moment, lease_ms), the_fence, the_retention_ms, the_tombstone_ms,
            'in_progress', 1, the_scope, the_key, the_fingerprint, the_method, the_path, the_owner)
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING target.* INTO record;
    IF FOUND THEN
      taken := true;
      RETURN;
    END IF;

    SELECT found.* INTO record FROM oncekey.records found
      WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
    CONTINUE WHEN NOT FOUND;  -- reaped in between

    moment := oncekey.clock();
    taken := false;
    IF oncekey.is_gone(record.state, record.due_at, record.tombstone_ms, moment) THEN
      UPDATE oncekey.records target
        SET created_at = moment, due_at = oncekey.later(moment, lease_ms), completed_at = NULL,
            fence = the_fence, retention_ms = the_retention_ms, tombstone_ms = the_tombstone_ms,
            state = 'in_progress', attempt = 1, response_status = NULL, response_schema = NULL,
            response_encoding = NULL, fingerprint = the_fingerprint, method = the_method,
            path = the_path, owner = the_owner, recovery_point = '', last_error = '',
            phase_data = NULL, response_headers = NULL, response_body = NULL
        WHERE target.scope = the_scope AND target.key = the_key
        RETURNING target.* INTO record;
      taken := true;
    ELSIF record.fingerprint = the_fingerprint AND record.state = 'failed_retryable' THEN
      UPDATE oncekey.records target
        SET due_at = oncekey.later(moment, lease_ms), fence = the_fence,
            retention_ms = the_retention_ms, tombstone_ms = the_tombstone_ms,
            state = 'in_progress', attempt = target.attempt + 1, method = the_method,
            path = the_path, owner = the_owner
        WHERE target.scope = the_scope AND target.key = the_key
        RETURNING target.* INTO record;
      taken := true;
    ELSIF record.state = 'in_progress' AND record.fence = the_fence THEN
      UPDATE oncekey.records target SET due_at = oncekey.later(moment, lease_ms)
        WHERE target.scope = the_scope AND target.key = the_key
        RETURNING target.* INTO record;
      taken := true;
    END IF;
    RETURN;
  END LOOP;
END
$$;

-- Settles records whose fence is right, and extends leases (state in_progress). What is not in the
-- result was not changed: settle_again() says why. `delays_ms` is the lease for in_progress, the time
-- until reconciliation for unknown.
CREATE FUNCTION oncekey.settle_batch(
    scopes text[], keys text[], fences bigint[], states oncekey.state[], errors text[],
    delays_ms bigint[], statuses integer[], schemas smallint[], encodings smallint[],
    headers text[], bodies bytea[])
  RETURNS TABLE (fence bigint, due_at timestamptz)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  UPDATE oncekey.records target
    SET state = s.state,
        due_at = oncekey.later(now_is, CASE WHEN s.state IN ('completed', 'failed_retryable')
                                            THEN target.retention_ms ELSE s.delay_ms END),
        completed_at = CASE WHEN s.state = 'completed' THEN now_is END,
        last_error = CASE s.state WHEN 'completed' THEN '' WHEN 'in_progress' THEN target.last_error
                                  ELSE s.error END,
        response_status = s.status, response_schema = s.schema, response_encoding = s.encoding,
        response_headers = s.headers::text[], response_body = s.body
    FROM (
      SELECT w.*, r.place
      FROM unnest(scopes, keys, fences, states, errors, delays_ms, statuses, schemas, encodings,
                  headers, bodies)
           AS w (scope, key, fence, state, error, delay_ms, status, schema, encoding, headers, body)
      CROSS JOIN LATERAL (
        SELECT found.ctid AS place FROM oncekey.records found
        WHERE found.scope = w.scope AND found.key = w.key
        OFFSET 0
      ) r
    ) s
    WHERE target.ctid = s.place AND target.fence = s.fence AND target.state = 'in_progress'
    RETURNING target.fence, target.due_at;
END
$$;

-- A settlement that changed nothing: repeated (the record has that state under that fence, and is
-- written anew, so that it is durable), still possible (the record moved under the batch), or stale.
CREATE FUNCTION oncekey.settle_again(
    the_scope text, the_key text, the_fence bigint, the_state oncekey.state,
    OUT repeated boolean, OUT possible boolean, OUT moment timestamptz, OUT state oncekey.state,
    OUT due_at timestamptz, OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
DECLARE
  record oncekey.records;
BEGIN
  repeated := false;
  possible := false;
  SELECT found.* INTO record FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
  moment := oncekey.clock();
  state := record.state;
  due_at := record.due_at;
  tombstone_ms := record.tombstone_ms;
  IF record.fence = the_fence THEN
    possible := record.state = 'in_progress';
    repeated := NOT possible AND record.state = the_state;
    IF repeated THEN
      UPDATE oncekey.records target SET fence = the_fence
        WHERE target.scope = the_scope AND target.key = the_key;
    END IF;
  END IF;
END
$$;

-- Reconciliation or an operator settles an unknown record, under a new fence.
CREATE FUNCTION oncekey.resolve_one(
    the_scope text, the_key text, new_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text, body bytea,
    OUT done boolean, OUT moment timestamptz, OUT state oncekey.state, OUT due_at timestamptz,
    OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
DECLARE
  record oncekey.records;
BEGIN
  SELECT found.* INTO record FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
  moment := oncekey.clock();
  done := FOUND AND record.state = 'unknown';
  IF done THEN
    UPDATE oncekey.records target SET state = 'in_progress', fence = new_fence
      WHERE target.scope = the_scope AND target.key = the_key;
    PERFORM oncekey.settle_batch(ARRAY[the_scope], ARRAY[the_key], ARRAY[new_fence],
                                 ARRAY[new_state], ARRAY[error], ARRAY[delay_ms], ARRAY[status],
                                 ARRAY[schema], ARRAY[encoding], ARRAY[headers], ARRAY[body]);
    SELECT found.* INTO record FROM oncekey.records found
      WHERE found.scope = the_scope AND found.key = the_key;
  END IF;
  state := record.state;
  due_at := record.due_at;
  tombstone_ms := record.tombstone_ms;
END
$$;

-- Leases that ran out: in_progress becomes unknown under a new fence. Rows that others hold are left
-- to them.
CREATE FUNCTION oncekey.sweep_batch(at_most bigint)
  RETURNS TABLE (scope text, key text)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  WITH dead AS MATERIALIZED (
    SELECT found.ctid AS place FROM oncekey.records found
    WHERE found.state = 'in_progress' AND found.due_at <= now_is
    ORDER BY found.due_at LIMIT at_most FOR UPDATE SKIP LOCKED
  )
  UPDATE oncekey.records target
    SET state = 'unknown', fence = oncekey.new_fence(), due_at = now_is,
        last_error = 'the lease ran out'
    FROM dead WHERE target.ctid = dead.place
    RETURNING target.scope, target.key;
END
$$;

-- What is past its retention: deleted, or turned into its tombstone. Returns how many rows it
-- touched. Rows that others hold are left to them, or to the next time.
CREATE FUNCTION oncekey.reap_batch(at_most bigint) RETURNS bigint
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $$
DECLARE
  now_is timestamptz := oncekey.clock();
  touched bigint := 0;
  part bigint;
  old_state oncekey.state;
BEGIN
  FOREACH old_state IN ARRAY ARRAY['completed', 'failed_retryable', 'expired']::oncekey.state[] LOOP
    WITH over AS MATERIALIZED (
      SELECT found.ctid AS place,
             oncekey.is_gone(found.state, found.due_at, found.tombstone_ms, now_is) AS gone
      FROM oncekey.records found
      WHERE found.state = old_state AND found.due_at <= now_is
      ORDER BY found.due_at LIMIT at_most - touched FOR UPDATE SKIP LOCKED
    ), buried AS (
      UPDATE oncekey.records target
        SET state = 'expired', due_at = oncekey.later(target.due_at, target.tombstone_ms),
            response_status = NULL, response_schema = NULL, response_encoding = NULL,
            response_headers = NULL, response_body = NULL
        FROM over WHERE target.ctid = over.place AND NOT over.gone
        RETURNING 1
    ), removed AS (
      DELETE FROM oncekey.records target USING over
        WHERE target.ctid = over.place AND over.gone
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM buried) + (SELECT count(*) FROM removed) INTO part;
    touched := touched + part;
  END LOOP;
  RETURN touched;
END
$$;

-- Reservations whose owner was told that they failed, and who therefore did not act on them: as if
-- they had not been. Waits for the session that may still be making them.
CREATE FUNCTION oncekey.withdraw_batch(scopes text[], keys text[], fences bigint[]) RETURNS bigint
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
DECLARE
  i integer;
  part bigint;
  withdrawn bigint := 0;
BEGIN
  FOR i IN 1 .. coalesce(array_length(scopes, 1), 0) LOOP
    UPDATE oncekey.records target
      SET state = 'failed_retryable', attempt = target.attempt - 1,
          due_at = oncekey.later(oncekey.clock(), target.retention_ms)
      WHERE target.scope = scopes[i] AND target.key = keys[i] AND target.fence = fences[i]
        AND target.state = 'in_progress' AND target.attempt > 1;
    GET DIAGNOSTICS part = ROW_COUNT;
    withdrawn := withdrawn + part;
    DELETE FROM oncekey.records target
      WHERE target.scope = scopes[i] AND target.key = keys[i] AND target.fence = fences[i]
        AND target.state = 'in_progress' AND target.attempt = 1;
    GET DIAGNOSTICS part = ROW_COUNT;
    withdrawn := withdrawn + part;
  END LOOP;
  RETURN withdrawn;
END
$$;
