-- The records of idempotency keys, and the functions that change them one at a time or in the
-- background. A batch of reservations or settlements is one statement: postgres_reserve.sql,
-- postgres_settle.sql.
--
-- Every rule is that of the state machine in src/boundary/decide.h.
--
-- A settlement is the most frequent change, and is made cheap: no column that it changes is indexed,
-- so PostgreSQL writes the new version of the row beside the old one and touches no index (HOT). What
-- background work has to find is found otherwise: leases through the table of holds, expiry and the
-- rare states through the shelf that a record lies on.
--
-- Nothing relies on the planner knowing the tables: a plan made while one is empty is still in use when
-- it has a hundred million rows. So each record is looked up by itself through the primary key, and
-- plans that read whole tables are switched off.

CREATE TYPE oncekey.state AS ENUM
  ('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired');

CREATE TABLE oncekey.records (
  created_at        timestamptz NOT NULL,
  -- in_progress: the end of the lease; unknown: not before this is it worth asking again; completed
  -- and failed_retryable: the end of retention; expired: the end of the tombstone.
  due_at            timestamptz NOT NULL,
  -- Where background work finds the record: shelf_of() says which shelf, shelf_until not before when.
  shelf_until       timestamptz NOT NULL,
  completed_at      timestamptz,
  fence             bigint NOT NULL,
  retention_ms      bigint NOT NULL,
  tombstone_ms      bigint NOT NULL,
  state             oncekey.state NOT NULL,
  attempt           integer NOT NULL,
  shelf             smallint NOT NULL DEFAULT 0,
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
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX records_shelf ON oncekey.records (shelf, shelf_until);

-- Which records were reserved together, and when the first of their leases ends: all that a sweeper
-- has to look at. A row is written with the reservations of a batch, in their transaction, and removed
-- by the sweeper that has looked at them; most are settled by then.
CREATE TABLE oncekey.holds (
  lease_until timestamptz NOT NULL,
  scopes      text[] NOT NULL,
  keys        text[] NOT NULL
);
CREATE INDEX holds_lease ON oncekey.holds (lease_until);

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
  LANGUAGE sql STABLE STRICT PARALLEL SAFE
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
  LANGUAGE sql STABLE PARALLEL SAFE
  AS $$
    SELECT CASE state
      WHEN 'completed' THEN moment >= oncekey.later(due_at, tombstone_ms)
      WHEN 'failed_retryable' THEN moment >= due_at
      WHEN 'expired' THEN moment >= due_at
      ELSE false
    END
  $$;

-- 0: expires after its retention, which begins with its settlement, so not before shelf_until. Work in
-- progress lies here too: it will most likely be completed. 1: failed_retryable. 2: unknown, which
-- never expires. 3: expired, a tombstone.
CREATE FUNCTION oncekey.shelf_of(state oncekey.state) RETURNS smallint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$
    SELECT (CASE state WHEN 'failed_retryable' THEN 1 WHEN 'unknown' THEN 2 WHEN 'expired' THEN 3
                       ELSE 0 END)::smallint
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
           (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt,
            scope, key, fingerprint, method, path, owner)
    VALUES (moment, oncekey.later(moment, lease_ms), oncekey.later(moment, the_retention_ms),
            the_fence, the_retention_ms, the_tombstone_ms, 'in_progress', 1, the_scope, the_key,
            the_fingerprint, the_method, the_path, the_owner)
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING target.* INTO record;
    taken := FOUND;
    EXIT WHEN taken;

    SELECT found.* INTO record FROM oncekey.records found
      WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
    CONTINUE WHEN NOT FOUND;  -- reaped in between

    moment := oncekey.clock();
    taken := false;
    IF oncekey.is_gone(record.state, record.due_at, record.tombstone_ms, moment) THEN
      UPDATE oncekey.records target
        SET created_at = moment, due_at = oncekey.later(moment, lease_ms), completed_at = NULL,
            shelf = 0, shelf_until = oncekey.later(moment, the_retention_ms),
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
        SET due_at = oncekey.later(moment, lease_ms), fence = the_fence, shelf = 0,
            shelf_until = oncekey.later(moment, the_retention_ms), retention_ms = the_retention_ms, tombstone_ms = the_tombstone_ms,
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
    EXIT;
  END LOOP;
  IF taken THEN
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    VALUES (record.due_at, ARRAY[the_scope], ARRAY[the_key]);
  END IF;
END
$$;

-- Settles a record whose fence is right, or extends its lease (in_progress). Returns the new due_at;
-- null: nothing was changed, and settle_again() says why. `delay_ms` is the lease for in_progress, the
-- time until reconciliation for unknown. The same for many records: postgres_settle.sql.
CREATE FUNCTION oncekey.settle_held(
    the_scope text, the_key text, the_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[],
    body bytea) RETURNS timestamptz
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
DECLARE
  moment timestamptz := oncekey.clock();
  new_due_at timestamptz;
BEGIN
  UPDATE oncekey.records target
    SET state = new_state,
        due_at = oncekey.later(moment, CASE WHEN new_state IN ('completed', 'failed_retryable')
                                            THEN target.retention_ms ELSE delay_ms END),
        shelf = oncekey.shelf_of(new_state),
        shelf_until = CASE WHEN new_state IN ('in_progress', 'completed') THEN target.shelf_until
                           WHEN new_state = 'failed_retryable'
                           THEN oncekey.later(moment, target.retention_ms)
                           ELSE 'infinity' END,
        completed_at = CASE WHEN new_state = 'completed' THEN moment END,
        last_error = CASE new_state WHEN 'completed' THEN '' WHEN 'in_progress'
                                    THEN target.last_error ELSE error END,
        response_status = status, response_schema = schema, response_encoding = encoding,
        response_headers = headers, response_body = body
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = the_fence
      AND target.state = 'in_progress'
    RETURNING target.due_at INTO new_due_at;
  RETURN new_due_at;
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
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[],
    body bytea, OUT done boolean, OUT moment timestamptz, OUT state oncekey.state, OUT due_at timestamptz,
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
    UPDATE oncekey.records target
      SET state = 'in_progress', fence = new_fence,
          shelf_until = oncekey.later(moment, target.retention_ms)
      WHERE target.scope = the_scope AND target.key = the_key;
    PERFORM oncekey.settle_held(the_scope, the_key, new_fence, new_state, error, delay_ms, status,
                                schema, encoding, headers, body);
    SELECT found.* INTO record FROM oncekey.records found
      WHERE found.scope = the_scope AND found.key = the_key;
  END IF;
  state := record.state;
  due_at := record.due_at;
  tombstone_ms := record.tombstone_ms;
END
$$;

-- Leases that ran out: in_progress becomes unknown under a new fence. Takes the holds whose first lease
-- is over; what is still in progress of them, because its lease was extended or somebody is changing it
-- right now, is held further.
CREATE FUNCTION oncekey.sweep_batch(at_most bigint)
  RETURNS TABLE (scope text, key text)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
  rounds_max constant integer := 20;
  holds_max constant bigint := 500;     -- in a round
  records_max constant bigint := 5000;  -- in a round, the first hold's in any case
  held_scopes text[];
  held_keys text[];
  part bigint;
  swept bigint := 0;
BEGIN
  FOR round IN 1 .. rounds_max LOOP
    WITH over AS MATERIALIZED (
      SELECT h.ctid AS place, h.lease_until, cardinality(h.keys) AS records FROM oncekey.holds h
      WHERE h.lease_until <= now_is
      ORDER BY h.lease_until LIMIT holds_max FOR UPDATE SKIP LOCKED
    ), few AS MATERIALIZED (
      SELECT counted.place
      FROM (SELECT over.place, row_number() OVER one_by_one AS number,
                   sum(over.records) OVER one_by_one AS records
            FROM over
            WINDOW one_by_one AS (ORDER BY over.lease_until ROWS UNBOUNDED PRECEDING)) counted
      WHERE counted.number = 1 OR counted.records <= records_max
    ), ended AS (
      DELETE FROM oncekey.holds h USING few WHERE h.ctid = few.place
      RETURNING h.scopes, h.keys
    )
    SELECT array_agg(w.scope), array_agg(w.key) INTO held_scopes, held_keys
    FROM ended, unnest(ended.scopes, ended.keys) AS w (scope, key);
    EXIT WHEN held_keys IS NULL;

    RETURN QUERY
    WITH still AS MATERIALIZED (
      SELECT held.scope, held.key, r.due_at
      FROM (SELECT DISTINCT w.scope, w.key FROM unnest(held_scopes, held_keys) AS w (scope, key)) held
      CROSS JOIN LATERAL (
        SELECT found.due_at FROM oncekey.records found
        WHERE found.scope = held.scope AND found.key = held.key AND found.state = 'in_progress'
        OFFSET 0
      ) r
    ), dead AS MATERIALIZED (
      SELECT r.place, o.scope, o.key
      FROM (SELECT s.scope, s.key FROM still s WHERE s.due_at <= now_is LIMIT at_most - swept) o
      CROSS JOIN LATERAL (
        SELECT found.ctid AS place FROM oncekey.records found
        WHERE found.scope = o.scope AND found.key = o.key AND found.state = 'in_progress'
          AND found.due_at <= now_is
        FOR UPDATE SKIP LOCKED
      ) r
    ), given_up AS (
      UPDATE oncekey.records target
        SET state = 'unknown', fence = oncekey.new_fence(), due_at = now_is, shelf = 2,
            shelf_until = 'infinity', last_error = 'the lease ran out'
        FROM dead WHERE target.ctid = dead.place
        RETURNING target.scope, target.key
    ), rest AS (
      INSERT INTO oncekey.holds (lease_until, scopes, keys)
      SELECT min(o.due_at), array_agg(o.scope), array_agg(o.key)
      FROM still o
      WHERE (o.scope, o.key) NOT IN (SELECT dead.scope, dead.key FROM dead)
      HAVING count(*) > 0
    )
    SELECT given_up.scope, given_up.key FROM given_up;
    GET DIAGNOSTICS part = ROW_COUNT;
    swept := swept + part;
    -- What is held further may be due already, and must not be taken again and again in one call.
    EXIT WHEN swept >= at_most
           OR EXISTS (SELECT FROM oncekey.holds h WHERE h.lease_until <= now_is
                      AND h.xmin = pg_current_xact_id()::xid);
  END LOOP;
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
  from_shelf smallint;
BEGIN
  FOREACH from_shelf IN ARRAY ARRAY[0, 1, 3]::smallint[] LOOP
    WITH over AS MATERIALIZED (
      SELECT found.ctid AS place,
             oncekey.is_gone(found.state, found.due_at, found.tombstone_ms, now_is) AS gone
      FROM oncekey.records found
      WHERE found.shelf = from_shelf AND found.shelf_until <= now_is AND found.due_at <= now_is
        AND found.state IN ('completed', 'failed_retryable', 'expired')
      ORDER BY found.shelf_until LIMIT at_most - touched FOR UPDATE SKIP LOCKED
    ), buried AS (
      UPDATE oncekey.records target
        SET state = 'expired', due_at = oncekey.later(target.due_at, target.tombstone_ms),
            shelf = 3, shelf_until = oncekey.later(target.due_at, target.tombstone_ms),
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
      SET state = 'failed_retryable', attempt = target.attempt - 1, shelf = 1,
          due_at = oncekey.later(oncekey.clock(), target.retention_ms),
          shelf_until = oncekey.later(oncekey.clock(), target.retention_ms)
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
