-- What a record remembers of its past, and keys that an operator has forgotten.
--
-- Only the rare transitions are noted: failed, unknown, resolved, reserved again, taken over. A record that
-- was reserved once and completed has no history: its other columns tell all. As src/boundary/history.h.
--
-- The functions that were there before are as they were, and also note what they do.

ALTER TABLE oncekey.records ADD COLUMN history text[];

COMMENT ON COLUMN oncekey.records.history IS
  'Six texts for each entry: how many before it are no longer kept, milliseconds since 1970, state, attempt, by whom, reason. oncekey.timeline() reads them.';

-- Who may call what was there may call what takes its place.
SELECT set_config('oncekey.grants', coalesce(string_agg(
         format('GRANT EXECUTE ON FUNCTION %s TO %I', f.gets, r.rolname), '; '), ''), true)
FROM (VALUES
  ('oncekey.resolve_one(text, text, bigint, oncekey.state, text, bigint, integer, smallint, smallint, text[], bytea)', 'oncekey.resolve_one'),
  ('oncekey.resolve_joined(text, text, bigint, oncekey.state, text, bigint, integer, smallint, smallint, text[], bytea)', 'oncekey.resolve_joined'),
  ('oncekey.settle_held(text, text, bigint, oncekey.state, text, bigint, integer, smallint, smallint, text[], bytea)',
   'oncekey.history_entry, oncekey.noted, oncekey.without_reserve, oncekey.evict_one')
) f (had, gets)
JOIN pg_proc p ON p.oid = to_regprocedure(f.had)
CROSS JOIN LATERAL aclexplode(p.proacl) a
JOIN pg_roles r ON r.oid = a.grantee
WHERE a.grantee <> p.proowner;

DROP FUNCTION oncekey.resolve_one(text, text, bigint, oncekey.state, text, bigint, integer, smallint, smallint, text[], bytea);
DROP FUNCTION oncekey.resolve_joined(text, text, bigint, oncekey.state, text, bigint, integer, smallint, smallint, text[], bytea);

CREATE FUNCTION oncekey.history_entry(moment timestamptz, state oncekey.state, attempt integer,
                                      by_whom text, reason text) RETURNS text[]
  LANGUAGE sql STABLE PARALLEL SAFE
  AS $$
    SELECT ARRAY['0', (extract(epoch FROM moment) * 1000)::bigint::text, state::text, attempt::text,
                 left(by_whom, 256), left(reason, 256)]
  $$;

-- The history of a record that was as given, and becomes new_state now. Keeps the first entry and the
-- latest.
CREATE FUNCTION oncekey.noted(
    history text[], born timestamptz, old_attempt integer, old_owner text, moment timestamptz,
    new_state oncekey.state, new_attempt integer, by_whom text, reason text) RETURNS text[]
  LANGUAGE plpgsql STABLE PARALLEL SAFE
  AS $$
DECLARE
  kept_max constant integer := 32;
  width constant integer := 6;
  entries text[] := history;
BEGIN
  IF entries IS NULL THEN
    -- Before there were histories, only the latest owner was known.
    entries := oncekey.history_entry(born, 'in_progress', 1,
                                     CASE WHEN old_attempt = 1 THEN old_owner ELSE '' END, '');
  ELSIF cardinality(entries) >= kept_max * width THEN
    entries[2 * width + 1] :=
      (entries[2 * width + 1]::integer + entries[width + 1]::integer + 1)::text;
    entries := entries[1:width] || entries[2 * width + 1:];
  END IF;
  RETURN entries || oncekey.history_entry(moment, new_state, new_attempt, by_whom, reason);
END
$$;

-- The reservation that the record is in progress by has not been, after all.
CREATE FUNCTION oncekey.without_reserve(history text[], attempt integer) RETURNS text[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$
    SELECT CASE WHEN history[cardinality(history) - 3] = 'in_progress'
                 AND history[cardinality(history) - 2] = attempt::text
                THEN history[1:cardinality(history) - 6] ELSE history END
  $$;

CREATE OR REPLACE FUNCTION oncekey.reserve_one(
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
            phase_data = NULL, response_headers = NULL, response_body = NULL, history = NULL
        WHERE target.scope = the_scope AND target.key = the_key
        RETURNING target.* INTO record;
      taken := true;
    ELSIF record.fingerprint = the_fingerprint AND record.state = 'failed_retryable' THEN
      UPDATE oncekey.records target
        SET due_at = oncekey.later(moment, lease_ms), fence = the_fence, shelf = 0,
            shelf_until = oncekey.later(moment, the_retention_ms),
            retention_ms = the_retention_ms, tombstone_ms = the_tombstone_ms,
            state = 'in_progress', attempt = target.attempt + 1, method = the_method,
            path = the_path, owner = the_owner,
            history = oncekey.noted(target.history, target.created_at, target.attempt, target.owner,
                                    moment, 'in_progress', target.attempt + 1, the_owner, '')
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

CREATE OR REPLACE FUNCTION oncekey.settle_held(
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
        response_headers = headers, response_body = body,
        history = CASE WHEN new_state IN ('failed_retryable', 'unknown')
                       THEN oncekey.noted(target.history, target.created_at, target.attempt,
                                          target.owner, moment, new_state, target.attempt,
                                          target.owner, error)
                       ELSE target.history END
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = the_fence
      AND target.state = 'in_progress'
    RETURNING target.due_at INTO new_due_at;
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF new_state = 'completed' THEN
    DELETE FROM oncekey.workflows w WHERE w.scope = the_scope AND w.key = the_key;
  ELSE
    UPDATE oncekey.workflows w
      SET check_at = CASE new_state WHEN 'in_progress' THEN least(w.check_at, new_due_at)
                                    WHEN 'unknown' THEN 'infinity' ELSE new_due_at END
      WHERE w.scope = the_scope AND w.key = the_key;
  END IF;
  RETURN new_due_at;
END
$$;

-- Who decided and why are for the history; without a reason it says what the verdict does. A record that
-- stays unknown has made no transition.
CREATE FUNCTION oncekey.resolve_one(
    the_scope text, the_key text, new_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[],
    body bytea, decided_by text DEFAULT '', reason text DEFAULT '',
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
    UPDATE oncekey.records target
      SET state = 'in_progress', fence = new_fence,
          shelf_until = oncekey.later(moment, target.retention_ms)
      WHERE target.scope = the_scope AND target.key = the_key;
    PERFORM oncekey.settle_held(the_scope, the_key, new_fence, new_state, error, delay_ms, status,
                                schema, encoding, headers, body);
    UPDATE oncekey.records target
      SET history = CASE WHEN new_state = 'unknown' THEN record.history
                         ELSE oncekey.noted(record.history, record.created_at, record.attempt,
                                            record.owner, moment, new_state, record.attempt,
                                            decided_by, coalesce(nullif(reason, ''), error)) END
      WHERE target.scope = the_scope AND target.key = the_key;
    SELECT found.* INTO record FROM oncekey.records found
      WHERE found.scope = the_scope AND found.key = the_key;
  END IF;
  state := record.state;
  due_at := record.due_at;
  tombstone_ms := record.tombstone_ms;
END
$$;

CREATE FUNCTION oncekey.resolve_joined(
    the_scope text, the_key text, the_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[], body bytea,
    decided_by text DEFAULT '', reason text DEFAULT '',
    OUT done boolean, OUT moment timestamptz, OUT state oncekey.state, OUT due_at timestamptz,
    OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
DECLARE
  record oncekey.records;
BEGIN
  SELECT found.* INTO record FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
  IF the_fence <> 0 AND record.fence <> the_fence THEN
    done := false;
    moment := oncekey.clock();
    state := record.state;
    due_at := record.due_at;
    tombstone_ms := record.tombstone_ms;
    RETURN;
  END IF;
  SELECT one.* INTO done, moment, state, due_at, tombstone_ms FROM oncekey.resolve_one(
    the_scope, the_key, oncekey.new_fence(), new_state, error, delay_ms, status, schema, encoding,
    headers, body, decided_by, reason) one;
END
$$;

CREATE OR REPLACE FUNCTION oncekey.sweep_batch(at_most bigint)
  RETURNS TABLE (scope text, key text)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
  rounds_max constant integer := 20;
  holds_max constant bigint := 500;      -- in a round
  records_max constant bigint := 5000;   -- in a round, the first hold's in any case
  workflows_max constant bigint := 100;  -- looked at in a call, for those whose record is gone
  workflow_rest constant interval := '1 minute';
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
      SELECT held.scope, held.key, r.due_at, r.is_workflow
      FROM (SELECT DISTINCT w.scope, w.key FROM unnest(held_scopes, held_keys) AS w (scope, key)) held
      CROSS JOIN LATERAL (
        SELECT found.due_at,
               EXISTS (SELECT FROM oncekey.workflows w
                       WHERE w.scope = found.scope AND w.key = found.key AND w.fence = found.fence
                         AND w.born = found.created_at) AS is_workflow
        FROM oncekey.records found
        WHERE found.scope = held.scope AND found.key = held.key AND found.state = 'in_progress'
        OFFSET 0
      ) r
    ), dead AS MATERIALIZED (
      SELECT r.place, o.scope, o.key
      FROM (SELECT s.scope, s.key FROM still s
            WHERE s.due_at <= now_is AND NOT s.is_workflow LIMIT at_most - swept) o
      CROSS JOIN LATERAL (
        SELECT found.ctid AS place FROM oncekey.records found
        WHERE found.scope = o.scope AND found.key = o.key AND found.state = 'in_progress'
          AND found.due_at <= now_is
        FOR UPDATE SKIP LOCKED
      ) r
    ), given_up AS (
      UPDATE oncekey.records target
        SET state = 'unknown', fence = oncekey.new_fence(), due_at = now_is, shelf = 2,
            shelf_until = 'infinity', last_error = 'the lease ran out',
            history = oncekey.noted(target.history, target.created_at, target.attempt, target.owner,
                                    now_is, 'unknown', target.attempt, '', 'the lease ran out')
        FROM dead WHERE target.ctid = dead.place
        RETURNING target.scope, target.key
    ), rest AS (
      INSERT INTO oncekey.holds (lease_until, scopes, keys)
      SELECT min(CASE WHEN o.is_workflow THEN greatest(o.due_at, now_is + workflow_rest)
                      ELSE o.due_at END),
             array_agg(o.scope), array_agg(o.key)
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

  -- A failed workflow's row outlives its record, which the reaper removes.
  DELETE FROM oncekey.workflows target USING (
    SELECT w.scope, w.key FROM oncekey.workflows w WHERE w.check_at <= now_is
    ORDER BY w.check_at LIMIT workflows_max FOR UPDATE SKIP LOCKED
  ) looked
  WHERE target.scope = looked.scope AND target.key = looked.key
    AND NOT EXISTS (
      SELECT FROM oncekey.records r
      WHERE r.scope = target.scope AND r.key = target.key AND r.created_at = target.born
        AND r.state IN ('in_progress', 'failed_retryable', 'unknown'));
END
$$;

CREATE OR REPLACE FUNCTION oncekey.withdraw_batch(scopes text[], keys text[], fences bigint[]) RETURNS bigint
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
          history = oncekey.without_reserve(target.history, target.attempt),
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

CREATE OR REPLACE FUNCTION oncekey.resume_one(the_scope text, the_key text, the_workflow text, lease_ms bigint,
                                   the_owner text)
  RETURNS TABLE (fence bigint, attempt integer, locked_until timestamptz, recovery_point text,
                 data text, input text)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  record oncekey.records;
  flow oncekey.workflows;
  moment timestamptz;
  failed boolean;
BEGIN
  -- First without a lock: one that is running is not waited for.
  FOR look IN 1 .. 2 LOOP
    IF look = 1 THEN
      SELECT found.* INTO record FROM oncekey.records found
        WHERE found.scope = the_scope AND found.key = the_key;
    ELSE
      SELECT found.* INTO record FROM oncekey.records found
        WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
    END IF;
    SELECT found.* INTO flow FROM oncekey.workflows found
      WHERE found.scope = the_scope AND found.key = the_key AND found.workflow = the_workflow
        AND found.born = record.created_at;
    moment := oncekey.clock();
    IF flow.fence IS NULL
       OR NOT (record.state = 'in_progress' AND record.fence = flow.fence AND record.due_at <= moment
               OR record.state = 'failed_retryable' AND record.due_at > moment) THEN
      RETURN;
    END IF;
  END LOOP;

  failed := record.state = 'failed_retryable';
  UPDATE oncekey.records target
    SET state = 'in_progress', fence = oncekey.new_fence(), attempt = target.attempt + 1,
        due_at = oncekey.later(moment, lease_ms), owner = the_owner, shelf = 0,
        shelf_until = CASE WHEN failed THEN oncekey.later(moment, target.retention_ms)
                           ELSE target.shelf_until END,
        history = oncekey.noted(target.history, target.created_at, target.attempt, target.owner, moment,
                                'in_progress', target.attempt + 1, the_owner,
                                CASE WHEN failed THEN '' ELSE 'the lease ran out' END)
    WHERE target.scope = the_scope AND target.key = the_key
    RETURNING target.* INTO record;
  UPDATE oncekey.workflows target SET fence = record.fence, check_at = record.due_at
    WHERE target.scope = the_scope AND target.key = the_key;
  IF failed THEN  -- the sweeper drops the holds of what is not in progress
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    VALUES (record.due_at, ARRAY[the_scope], ARRAY[the_key]);
  END IF;
  fence := record.fence;
  attempt := record.attempt;
  locked_until := record.due_at;
  recovery_point := record.recovery_point;
  data := flow.data;
  input := flow.input;
  RETURN NEXT;
END
$$;

-- Removes a record, unless it is in progress, or unknown and that is not to be. `the_fence` 0: whatever
-- hold it was left by. The rest says what it was.
CREATE FUNCTION oncekey.evict_one(
    the_scope text, the_key text, the_fence bigint, even_unknown boolean,
    OUT done boolean, OUT moment timestamptz, OUT record oncekey.records)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
BEGIN
  SELECT found.* INTO record FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
  done := FOUND;
  moment := oncekey.clock();
  done := done AND NOT oncekey.is_gone(record.state, record.due_at, record.tombstone_ms, moment)
          AND (the_fence = 0 OR record.fence = the_fence)
          AND record.state <> 'in_progress' AND (record.state <> 'unknown' OR even_unknown);
  IF done THEN
    DELETE FROM oncekey.workflows w WHERE w.scope = the_scope AND w.key = the_key;
    DELETE FROM oncekey.records target WHERE target.scope = the_scope AND target.key = the_key;
  END IF;
END
$$;

-- --- for applications and operators ----------------------------------------------------------------

-- All that happened to a key's record, in order; no row: there is none. `dropped` says how many before
-- this one are no longer kept. Reads only.
CREATE FUNCTION oncekey.timeline(scope text, key text)
  RETURNS TABLE (at timestamptz, state text, attempt integer, by_whom text, reason text,
                 dropped integer)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  known oncekey.records;
  entries text[];
  last_state text;
  last_attempt integer;
  i integer;
BEGIN
  PERFORM oncekey.check_id(timeline.scope, timeline.key);
  SELECT found.* INTO known FROM oncekey.records found
    WHERE found.scope = oncekey.escaped(timeline.scope) AND found.key = oncekey.escaped(timeline.key);
  IF NOT FOUND
     OR oncekey.is_gone(known.state, known.due_at, known.tombstone_ms, oncekey.clock()) THEN
    RETURN;
  END IF;
  entries := coalesce(known.history, oncekey.history_entry(
    known.created_at, 'in_progress', 1, CASE WHEN known.attempt = 1 THEN known.owner ELSE '' END, ''));
  FOR i IN 0 .. cardinality(entries) / 6 - 1 LOOP
    dropped := entries[6 * i + 1]::integer;
    at := to_timestamp(entries[6 * i + 2]::bigint / 1000.0);
    state := entries[6 * i + 3];
    attempt := entries[6 * i + 4]::integer;
    by_whom := oncekey.unescaped(entries[6 * i + 5]);
    reason := oncekey.unescaped(entries[6 * i + 6]);
    last_state := state;
    last_attempt := attempt;
    RETURN NEXT;
  END LOOP;
  dropped := 0;
  attempt := known.attempt;
  by_whom := oncekey.unescaped(known.owner);
  reason := '';
  IF known.state IN ('completed', 'expired') THEN
    IF last_state <> 'completed' THEN
      at := known.completed_at;
      state := 'completed';
      RETURN NEXT;
    END IF;
    at := known.due_at;
    IF known.state = 'expired' THEN
      at := oncekey.later(at, -known.tombstone_ms);
    END IF;
    IF oncekey.clock() >= at THEN
      state := 'expired';
      by_whom := '';
      RETURN NEXT;
    END IF;
  ELSIF known.state::text <> last_state OR known.attempt <> last_attempt THEN
    -- From before there were histories.
    at := CASE WHEN known.state = 'failed_retryable'
               THEN oncekey.later(known.due_at, -known.retention_ms) END;
    state := known.state::text;
    reason := oncekey.unescaped(known.last_error);
    RETURN NEXT;
  END IF;
END
$$;

-- Has a key forgotten, as if it had never been used: the next reserve() executes. False: there is no such
-- key, it is in progress, or it is unknown and even_unknown was not said.
CREATE FUNCTION oncekey.evict(scope text, key text, even_unknown boolean DEFAULT false)
  RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  PERFORM oncekey.check_id(evict.scope, evict.key);
  RETURN (SELECT one.done FROM oncekey.evict_one(
    oncekey.escaped(evict.scope), oncekey.escaped(evict.key), 0, coalesce(evict.even_unknown, false))
    one);
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;

DO $$
BEGIN
  IF current_setting('oncekey.grants') <> '' THEN
    EXECUTE current_setting('oncekey.grants');
  END IF;
END
$$;
