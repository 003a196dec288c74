-- Workflows: work in several transactions that goes on after a crash where its last one committed.
--
-- A row here makes a record in progress a workflow's: when its lease runs out it does not become
-- unknown, but waits to be resumed. The row belongs to one hold on one life of its record (fence and
-- created_at); somebody else's hold on the same key is nobody's workflow.
--
-- The functions named _one take texts as they are stored. The others are for applications.

CREATE TABLE oncekey.workflows (
  check_at timestamptz NOT NULL,  -- not before this can it have stalled; failed: the end of retention
  born     timestamptz NOT NULL,  -- the record's created_at
  fence    bigint NOT NULL,
  scope    text COLLATE "C" NOT NULL,
  key      text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  input    text NOT NULL,             -- JSON, as it was given
  data     text NOT NULL DEFAULT '',  -- JSON, of the last committed phase
  PRIMARY KEY (scope, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05);

CREATE INDEX workflows_check ON oncekey.workflows (check_at);

COMMENT ON TABLE oncekey.workflows IS
  'One row for each workflow that has not ended. Its texts are written as in oncekey.records.';

-- False: the record is not held under that fence, or by a workflow of another name. An earlier attempt's
-- data stays.
CREATE FUNCTION oncekey.begin_workflow_one(the_scope text, the_key text, the_fence bigint,
                                           the_workflow text, the_input text) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
BEGIN
  INSERT INTO oncekey.workflows AS target (check_at, born, fence, scope, key, workflow, input)
  SELECT found.due_at, found.created_at, found.fence, found.scope, found.key, the_workflow, the_input
  FROM oncekey.records found
  WHERE found.scope = the_scope AND found.key = the_key AND found.fence = the_fence
    AND found.state = 'in_progress'
  FOR NO KEY UPDATE
  ON CONFLICT (scope, key) DO UPDATE
    SET check_at = excluded.check_at, born = excluded.born, fence = excluded.fence,
        workflow = excluded.workflow, input = excluded.input,
        data = CASE WHEN target.born = excluded.born THEN target.data ELSE '' END
    WHERE target.born <> excluded.born OR target.workflow = excluded.workflow;
  RETURN FOUND;
END
$$;

-- A phase is done: where the next one goes on, what it needs, and a lease that starts anew. Not done:
-- the fence is stale, and the rest says what the record is now.
CREATE FUNCTION oncekey.advance_one(
    the_scope text, the_key text, the_fence bigint, the_point text, the_data text, lease_ms bigint,
    OUT done boolean, OUT moment timestamptz, OUT state oncekey.state, OUT due_at timestamptz,
    OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
BEGIN
  moment := oncekey.clock();
  UPDATE oncekey.records target
    SET recovery_point = the_point, due_at = oncekey.later(moment, lease_ms)
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = the_fence
      AND target.state = 'in_progress'
    RETURNING target.due_at, target.state INTO due_at, state;
  done := FOUND;
  IF NOT done THEN
    SELECT found.state, found.due_at, found.tombstone_ms INTO state, due_at, tombstone_ms
      FROM oncekey.records found WHERE found.scope = the_scope AND found.key = the_key;
    RETURN;
  END IF;
  UPDATE oncekey.workflows target SET data = the_data, check_at = least(target.check_at, advance_one.due_at)
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = the_fence;
  IF NOT FOUND THEN
    PERFORM oncekey.refuse('this key''s record is not a workflow''s',
                           'Call oncekey.begin_workflow() in the transaction that reserves it.');
  END IF;
END
$$;

-- Takes over a workflow whose lease ran out, or that failed with proof that its phase did nothing. No
-- row: there is none to take over.
CREATE FUNCTION oncekey.resume_one(the_scope text, the_key text, the_workflow text, lease_ms bigint,
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
                           ELSE target.shelf_until END
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

CREATE FUNCTION oncekey.stalled_batch(the_workflow text, at_most bigint)
  RETURNS TABLE (scope text, key text, since timestamptz)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  SELECT w.scope, w.key, r.due_at
  FROM oncekey.workflows w
  CROSS JOIN LATERAL (
    SELECT found.due_at FROM oncekey.records found
    WHERE found.scope = w.scope AND found.key = w.key AND found.created_at = w.born
      AND found.fence = w.fence AND found.state = 'in_progress' AND found.due_at <= now_is
    OFFSET 0
  ) r
  WHERE w.check_at <= now_is AND w.workflow = the_workflow
  ORDER BY r.due_at LIMIT at_most;
END
$$;

-- As in 0001, and a workflow's row follows its record: completed ends it.
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
        response_headers = headers, response_body = body
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

-- As in 0001, but workflows are left to whoever resumes them. They are held further, by which listings
-- find them, and looked at again after a while.
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
            shelf_until = 'infinity', last_error = 'the lease ran out'
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

-- --- for applications ------------------------------------------------------------------------------

CREATE FUNCTION oncekey.check_workflow(workflow text) RETURNS void
  LANGUAGE plpgsql IMMUTABLE
  AS $$
BEGIN
  IF workflow IS NULL OR workflow = '' OR length(workflow) > 255 THEN
    PERFORM oncekey.refuse('the workflow''s name must be a text of 1 to 255 characters',
                           'Name the kind of work, such as ''payment''.');
  END IF;
END
$$;

-- Makes a record that was just reserved a workflow's. `input` is what is needed to go on without the
-- client. False: the fence is stale, and nothing was changed.
CREATE FUNCTION oncekey.begin_workflow(scope text, key text, fence bigint, workflow text,
                                       input jsonb DEFAULT '{}') RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  PERFORM oncekey.check_id(begin_workflow.scope, begin_workflow.key);
  PERFORM oncekey.check_workflow(begin_workflow.workflow);
  IF begin_workflow.fence IS NULL THEN
    PERFORM oncekey.refuse('the fence is missing', 'Pass the fence that oncekey.reserve() returned.');
  END IF;
  RETURN oncekey.begin_workflow_one(
    oncekey.escaped(begin_workflow.scope), oncekey.escaped(begin_workflow.key), begin_workflow.fence,
    oncekey.escaped(begin_workflow.workflow), coalesce(begin_workflow.input, '{}')::text);
END
$$;

-- Goes on with a workflow that nobody works on any more: its row is a licence to execute what comes
-- after recovery_point. No row: it is being worked on, has ended, or is no such workflow.
CREATE FUNCTION oncekey.resume(scope text, key text, workflow text,
                               lease interval DEFAULT '60 seconds', owner text DEFAULT NULL)
  RETURNS TABLE (fence bigint, attempt integer, recovery_point text, phase_data jsonb, input jsonb,
                 locked_until timestamptz)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  PERFORM oncekey.check_id(resume.scope, resume.key);
  PERFORM oncekey.check_workflow(resume.workflow);
  RETURN QUERY
  SELECT one.fence, one.attempt, oncekey.unescaped(one.recovery_point), nullif(one.data, '')::jsonb,
         nullif(one.input, '')::jsonb, one.locked_until
  FROM oncekey.resume_one(
    oncekey.escaped(resume.scope), oncekey.escaped(resume.key), oncekey.escaped(resume.workflow),
    oncekey.checked_ms('lease', resume.lease, '1 millisecond', '1 day'),
    oncekey.escaped(coalesce(resume.owner, 'sql: ' || session_user))) one;
END
$$;

-- Workflows of that name whose lease ran out, longest first: what a background completer resumes.
CREATE FUNCTION oncekey.stalled(workflow text, at_most integer DEFAULT 100)
  RETURNS TABLE (scope text, key text, since timestamptz)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  PERFORM oncekey.check_workflow(stalled.workflow);
  IF stalled.at_most IS NULL OR stalled.at_most NOT BETWEEN 1 AND 1000 THEN
    PERFORM oncekey.refuse('at_most must be from 1 to 1000', 'Ask again when these are resumed.');
  END IF;
  RETURN QUERY
  SELECT oncekey.unescaped(one.scope), oncekey.unescaped(one.key), one.since
  FROM oncekey.stalled_batch(oncekey.escaped(stalled.workflow), stalled.at_most) one;
END
$$;

-- advance() gets an argument. A function with another signature is another function, and GRANT by name
-- needs one of that name: the old one goes, and its grants pass to the new one.
SELECT set_config('oncekey.advance_roles', coalesce(string_agg(quote_ident(r.rolname), ', '), ''), true)
FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE p.oid = 'oncekey.advance(text, text, bigint, text, jsonb)'::regprocedure
  AND a.grantee <> p.proowner;

DROP FUNCTION oncekey.advance(text, text, bigint, text, jsonb);

-- A step is done: where the next attempt goes on, and what it needs for that. With a lease, that starts
-- anew as well.
CREATE FUNCTION oncekey.advance(scope text, key text, fence bigint, recovery_point text,
                                phase_data jsonb DEFAULT NULL, lease interval DEFAULT NULL)
  RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  the_scope text := oncekey.escaped(advance.scope);
  the_key text := oncekey.escaped(advance.key);
  lease_ms bigint := CASE WHEN advance.lease IS NOT NULL
    THEN oncekey.checked_ms('lease', advance.lease, '1 millisecond', '1 day') END;
  new_due_at timestamptz;
BEGIN
  PERFORM oncekey.check_id(advance.scope, advance.key);
  IF advance.fence IS NULL THEN
    PERFORM oncekey.refuse('the fence is missing', 'Pass the fence that oncekey.reserve() returned.');
  ELSIF advance.recovery_point IS NULL OR length(advance.recovery_point) > 255 THEN
    PERFORM oncekey.refuse('the recovery point must be a text of at most 255 characters',
                           'Name the step that was finished, such as ''charge_created''.');
  END IF;
  UPDATE oncekey.records target
    SET recovery_point = oncekey.escaped(advance.recovery_point), phase_data = advance.phase_data,
        due_at = coalesce(oncekey.later(oncekey.clock(), lease_ms), target.due_at)
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = advance.fence
      AND target.state = 'in_progress'
    RETURNING target.due_at INTO new_due_at;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE oncekey.workflows target
    SET data = coalesce(advance.phase_data::text, ''),
        check_at = least(target.check_at, new_due_at)
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = advance.fence;
  RETURN true;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;

DO $$
BEGIN
  IF current_setting('oncekey.advance_roles') <> '' THEN
    EXECUTE 'GRANT EXECUTE ON FUNCTION oncekey.advance TO ' || current_setting('oncekey.advance_roles');
  END IF;
END
$$;
