-- Nobody is held up longer than he must be: what a call does not change it does not lock, a record that
-- somebody holds keeps no other from being withdrawn, workflows that go on do not keep the sweeper from those
-- that have ended, and a lease that becomes shorter is swept when it ends.
--
-- For applications: answers that a gateway sealed, ages beyond the calendar, and sessions in which a backslash
-- in a literal means something.

-- As in 0002, in literals that mean the same whatever standard_conforming_strings is.
CREATE OR REPLACE FUNCTION oncekey.escaped(plain text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT pg_catalog.replace(plain, E'\\', E'\\\\') $$;

CREATE OR REPLACE FUNCTION oncekey.unescaped(stored text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT pg_catalog.replace(stored, E'\\\\', E'\\') $$;

-- As in 0007, but the record is locked only where it changes.
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

    -- First without a lock, which would last as long as the caller's transaction.
    FOR look IN 1 .. 2 LOOP
      IF look = 1 THEN
        SELECT found.* INTO record FROM oncekey.records found
          WHERE found.scope = the_scope AND found.key = the_key;
      ELSE
        SELECT found.* INTO record FROM oncekey.records found
          WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
      END IF;
      moment := oncekey.clock();
      EXIT WHEN NOT (
        oncekey.is_gone(record.state, record.due_at, record.tombstone_ms, moment)
        OR record.fingerprint = the_fingerprint AND record.state = 'failed_retryable'
        OR record.state = 'in_progress' AND record.fence = the_fence);
    END LOOP;
    CONTINUE WHEN record.scope IS NULL;  -- reaped in between

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

-- As in 0001, but the record is locked only where it is written anew.
CREATE OR REPLACE FUNCTION oncekey.settle_again(
    the_scope text, the_key text, the_fence bigint, the_state oncekey.state,
    OUT repeated boolean, OUT possible boolean, OUT moment timestamptz, OUT state oncekey.state,
    OUT due_at timestamptz, OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
DECLARE
  record oncekey.records;
BEGIN
  FOR look IN 1 .. 2 LOOP
    IF look = 1 THEN
      SELECT found.* INTO record FROM oncekey.records found
        WHERE found.scope = the_scope AND found.key = the_key;
    ELSE
      SELECT found.* INTO record FROM oncekey.records found
        WHERE found.scope = the_scope AND found.key = the_key FOR UPDATE;
    END IF;
    repeated := coalesce(record.fence = the_fence AND record.state <> 'in_progress'
                         AND record.state = the_state, false);
    -- In a snapshot that stays, only a lock tells that the record has changed since.
    EXIT WHEN NOT repeated AND current_setting('transaction_isolation') LIKE 'read %';
  END LOOP;
  possible := coalesce(record.fence = the_fence AND record.state = 'in_progress', false);
  moment := oncekey.clock();
  state := record.state;
  due_at := record.due_at;
  tombstone_ms := record.tombstone_ms;
  IF repeated THEN
    UPDATE oncekey.records target SET fence = the_fence
      WHERE target.scope = the_scope AND target.key = the_key;
  END IF;
END
$$;

-- As in 0007, but a lease that becomes shorter gets a hold of its own: the one it has is looked at when the
-- first lease ends. A workflow's is found by its row.
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
  shorter boolean := false;
BEGIN
  LOOP
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
        AND (shorter OR new_state <> 'in_progress' OR target.due_at <= oncekey.later(moment, delay_ms))
      RETURNING target.due_at INTO new_due_at;
    EXIT WHEN FOUND OR shorter OR new_state <> 'in_progress';
    shorter := true;  -- or it is not held under that fence
  END LOOP;
  IF new_due_at IS NULL THEN
    RETURN NULL;
  ELSIF new_state = 'completed' THEN
    DELETE FROM oncekey.workflows w WHERE w.scope = the_scope AND w.key = the_key;
  ELSE
    UPDATE oncekey.workflows w
      SET check_at = CASE new_state WHEN 'in_progress' THEN least(w.check_at, new_due_at)
                                    WHEN 'unknown' THEN 'infinity' ELSE new_due_at END
      WHERE w.scope = the_scope AND w.key = the_key;
  END IF;
  IF shorter AND NOT EXISTS (SELECT FROM oncekey.workflows w WHERE w.scope = the_scope
                             AND w.key = the_key AND w.fence = the_fence) THEN
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    VALUES (new_due_at, ARRAY[the_scope], ARRAY[the_key]);
  END IF;
  RETURN new_due_at;
END
$$;

-- The same for a step with a shorter lease.
CREATE OR REPLACE FUNCTION oncekey.advance(scope text, key text, fence bigint, recovery_point text,
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
  shorter boolean := false;
BEGIN
  PERFORM oncekey.check_id(advance.scope, advance.key);
  IF advance.fence IS NULL THEN
    PERFORM oncekey.refuse('the fence is missing', 'Pass the fence that oncekey.reserve() returned.');
  ELSIF advance.recovery_point IS NULL OR length(advance.recovery_point) > 255 THEN
    PERFORM oncekey.refuse('the recovery point must be a text of at most 255 characters',
                           'Name the step that was finished, such as ''charge_created''.');
  END IF;
  LOOP
    UPDATE oncekey.records target
      SET recovery_point = oncekey.escaped(advance.recovery_point), phase_data = advance.phase_data,
          due_at = coalesce(oncekey.later(oncekey.clock(), lease_ms), target.due_at)
      WHERE target.scope = the_scope AND target.key = the_key AND target.fence = advance.fence
        AND target.state = 'in_progress'
        AND (shorter OR lease_ms IS NULL
             OR target.due_at <= oncekey.later(oncekey.clock(), lease_ms))
      RETURNING target.due_at INTO new_due_at;
    EXIT WHEN FOUND OR shorter OR lease_ms IS NULL;
    shorter := true;  -- or it is not held under that fence
  END LOOP;
  IF new_due_at IS NULL THEN
    RETURN false;
  END IF;
  UPDATE oncekey.workflows target
    SET data = coalesce(advance.phase_data::text, ''),
        check_at = least(target.check_at, new_due_at)
    WHERE target.scope = the_scope AND target.key = the_key AND target.fence = advance.fence;
  IF shorter AND NOT FOUND THEN
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    VALUES (new_due_at, ARRAY[the_scope], ARRAY[the_key]);
  END IF;
  RETURN true;
END
$$;

-- Sweeping, as in 0011 but for workflows: a hundred that had not ended kept all others from being looked at.
CREATE OR REPLACE FUNCTION oncekey.sweep_batch(at_most bigint)
  RETURNS TABLE (scope text, key text)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan
  AS $$
#variable_conflict use_column
DECLARE
  now_is timestamptz := oncekey.clock();
  begun constant timestamptz := clock_timestamp();
  rounds_max constant integer := 20;
  holds_max constant bigint := 500;      -- in a round
  records_max constant bigint := 5000;   -- in a round, the first hold's in any case
  workflows_max constant bigint := 100;  -- looked at in a call, for those that have ended
  workflow_rest constant interval := '1 minute';
  call_lasts constant interval := '500 milliseconds';  -- then the round under way is the last
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
      WHERE (o.scope, o.key) NOT IN (SELECT given_up.scope, given_up.key FROM given_up)
      HAVING count(*) > 0
    )
    SELECT given_up.scope, given_up.key FROM given_up;
    GET DIAGNOSTICS part = ROW_COUNT;
    swept := swept + part;
    -- What is held further may be due already, and must not be taken again and again in one call.
    EXIT WHEN swept >= at_most OR clock_timestamp() > begun + call_lasts
           OR EXISTS (SELECT FROM (SELECT h.xmin AS made_by FROM oncekey.holds h
                                   WHERE h.lease_until <= now_is
                                   ORDER BY h.lease_until LIMIT holds_max) next
                      WHERE next.made_by = pg_current_xact_id()::xid);
  END LOOP;

  -- A failed workflow's row outlives its record, which the reaper removes. What has not ended is looked at
  -- again when its record can have become something else, so that the next ones get their turn. One that
  -- has stalled must be found by those who resume it: where more wait, it goes behind them and no further.
  SELECT array_agg(w.scope), array_agg(w.key) INTO held_scopes, held_keys
  FROM (SELECT due.scope, due.key FROM oncekey.workflows due WHERE due.check_at <= now_is
        ORDER BY due.check_at LIMIT workflows_max FOR UPDATE SKIP LOCKED) w;
  -- They are locked before their records are read, so no lease that became shorter is missed.
  WITH looked AS MATERIALIZED (
    SELECT held.scope, held.key,
           CASE
             WHEN r.state = 'in_progress' AND r.fence = w.fence
             THEN CASE WHEN r.due_at > now_is THEN r.due_at
                       WHEN cardinality(held_keys) >= workflows_max THEN now_is
                       ELSE w.check_at END
             WHEN r.state IN ('in_progress', 'failed_retryable')
             THEN greatest(r.due_at, now_is + workflow_rest)
             WHEN r.state = 'unknown' THEN 'infinity'  -- until somebody resolves it
           END AS check_at
    FROM unnest(held_scopes, held_keys) AS held (scope, key)
    CROSS JOIN LATERAL (
      SELECT found.check_at, found.born, found.fence FROM oncekey.workflows found
      WHERE found.scope = held.scope AND found.key = held.key
      OFFSET 0
    ) w
    LEFT JOIN LATERAL (
      SELECT found.state, found.fence, found.due_at FROM oncekey.records found
      WHERE found.scope = held.scope AND found.key = held.key AND found.created_at = w.born
      OFFSET 0
    ) r ON true
  ), ended AS (
    DELETE FROM oncekey.workflows target USING looked
    WHERE target.scope = looked.scope AND target.key = looked.key AND looked.check_at IS NULL
  )
  UPDATE oncekey.workflows target SET check_at = looked.check_at FROM looked
  WHERE target.scope = looked.scope AND target.key = looked.key
    AND target.check_at <> looked.check_at;
END
$$;

-- As withdraw_batch(), which waits for whoever holds a record and then changes all or none. This one waits
-- for nobody. Returns the fences of the reservations that are still there because their records are held:
-- to be withdrawn later. All others are withdrawn, or are there no longer.
CREATE FUNCTION oncekey.withdraw_free_batch(scopes text[], keys text[], fences bigint[])
  RETURNS TABLE (fence bigint)
  LANGUAGE plpgsql VOLATILE
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  i integer;
  attempts integer;
BEGIN
  FOR i IN 1 .. coalesce(array_length(scopes, 1), 0) LOOP
    SELECT found.attempt INTO attempts FROM oncekey.records found
      WHERE found.scope = scopes[i] AND found.key = keys[i] AND found.fence = fences[i]
        AND found.state = 'in_progress'
      FOR UPDATE SKIP LOCKED;
    IF attempts = 1 THEN
      DELETE FROM oncekey.records target WHERE target.scope = scopes[i] AND target.key = keys[i];
    ELSIF attempts > 1 THEN
      UPDATE oncekey.records target
        SET state = 'failed_retryable', attempt = target.attempt - 1, shelf = 1,
            history = oncekey.without_reserve(target.history, target.attempt),
            due_at = oncekey.later(oncekey.clock(), target.retention_ms),
            shelf_until = oncekey.later(oncekey.clock(), target.retention_ms)
        WHERE target.scope = scopes[i] AND target.key = keys[i];
    ELSE
      RETURN QUERY
      SELECT found.fence FROM oncekey.records found
        WHERE found.scope = scopes[i] AND found.key = keys[i] AND found.fence = fences[i]
          AND found.state = 'in_progress';
    END IF;
  END LOOP;
END
$$;

-- Who may withdraw may withdraw this way.
REVOKE ALL ON FUNCTION oncekey.withdraw_free_batch FROM PUBLIC;
DO $$
DECLARE
  who name;
BEGIN
  FOR who IN
    SELECT r.rolname
    FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
    WHERE p.oid = 'oncekey.withdraw_batch(text[], text[], bigint[])'::regprocedure
      AND a.grantee <> p.proowner
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION oncekey.withdraw_free_batch TO %I', who);
  END LOOP;
END
$$;

-- --- for applications ------------------------------------------------------------------------------

-- As in 0002, but says of an answer that a gateway sealed what it is.
CREATE OR REPLACE FUNCTION oncekey.reserve(
    scope text, key text, fingerprint bytea,
    lease interval DEFAULT '60 seconds', retention interval DEFAULT '24 hours',
    method text DEFAULT '', path text DEFAULT '',
    tombstone interval DEFAULT '0 seconds', owner text DEFAULT NULL,
    OUT decision text, OUT fence bigint, OUT attempt integer, OUT recovery_point text,
    OUT phase_data jsonb, OUT response_status integer, OUT response_headers jsonb,
    OUT response_body bytea, OUT retry_after interval, OUT response_encoding text)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  the_scope text := oncekey.escaped(reserve.scope);
  the_key text := oncekey.escaped(reserve.key);
  lease_ms bigint := oncekey.checked_ms('lease', reserve.lease, '1 millisecond', '1 day');
  retention_ms bigint :=
    oncekey.checked_ms('retention', reserve.retention, '1 millisecond', '3650 days');
  tombstone_ms bigint := oncekey.checked_ms('tombstone', reserve.tombstone, '0', '3650 days');
  known oncekey.records;
  moment timestamptz;
  one record;
  taken boolean := false;
BEGIN
  PERFORM oncekey.check_id(reserve.scope, reserve.key);
  IF reserve.fingerprint IS NULL OR length(reserve.fingerprint) NOT BETWEEN 1 AND 255 THEN
    PERFORM oncekey.refuse('the fingerprint must be 1 to 255 bytes',
                           'Pass a hash of what the client asks for, such as sha256(body).');
  END IF;

  SELECT found.* INTO known FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key;
  moment := oncekey.clock();
  IF NOT FOUND OR oncekey.is_gone(known.state, known.due_at, known.tombstone_ms, moment)
     OR (known.state = 'failed_retryable' AND known.fingerprint = reserve.fingerprint) THEN
    SELECT * INTO one FROM oncekey.reserve_one(
      the_scope, the_key, reserve.fingerprint, oncekey.new_fence(), lease_ms, retention_ms,
      tombstone_ms, oncekey.escaped(coalesce(reserve.method, '')),
      oncekey.escaped(coalesce(reserve.path, '')),
      oncekey.escaped(coalesce(reserve.owner, 'sql: ' || session_user)));
    taken := one.taken;
    moment := one.moment;
    known := one.record;
  END IF;

  attempt := known.attempt;
  IF taken THEN
    decision := 'execute';
    fence := known.fence;
    recovery_point := oncekey.unescaped(known.recovery_point);
    phase_data := known.phase_data;
  ELSIF known.fingerprint <> reserve.fingerprint THEN
    decision := 'mismatch';
    attempt := NULL;
  ELSIF known.state = 'in_progress' AND moment < known.due_at THEN
    decision := 'in_flight';
    retry_after := '1 second';
  ELSIF known.state IN ('in_progress', 'unknown') THEN
    -- A lease that ran out proves nothing about the work.
    decision := 'unknown';
    retry_after := CASE WHEN known.due_at > moment THEN known.due_at - moment
                        ELSE interval '30 seconds' END;
  ELSIF known.state = 'completed' AND moment < known.due_at THEN
    decision := 'replay';
    response_status := known.response_status;
    response_headers := oncekey.headers_of(known.response_headers);
    response_body := known.response_body;
    response_encoding := oncekey.encoding_name(known.response_schema, known.response_encoding);
    IF known.response_schema = 1 AND known.response_encoding = 2 THEN
      RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'oncekey: the stored answer is encrypted by the gateway that stored it',
        HINT = 'Only a gateway with the keys can repeat it: send the request there. lookup() shows '
               'what else is known of the key.';
    ELSIF response_encoding = 'unsupported' THEN
      RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'oncekey: the stored answer was written by a newer version',
        HINT = 'Run the newer oncekey migrate on this database.';
    END IF;
  ELSE
    decision := 'expired';
  END IF;
END
$$;

-- As in 0004, but an age that goes back beyond the calendar is refused like any other wrong argument.
CREATE OR REPLACE FUNCTION oncekey.forget_consumed(older_than interval, at_most integer DEFAULT 1000)
  RETURNS bigint
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
DECLARE
  forgotten bigint;
BEGIN
  IF older_than IS NULL OR older_than < interval '0' OR older_than > interval '1000 years'
     OR at_most IS NULL OR at_most NOT BETWEEN 1 AND 100000 THEN
    PERFORM oncekey.refuse('older_than must be from 0 to 1000 years, and at_most from 1 to 100000',
                           'For example: older_than => interval ''30 days''');
  END IF;
  DELETE FROM oncekey.inbox target USING (
    SELECT i.ctid AS place FROM oncekey.inbox i
    WHERE i.received_at < oncekey.clock() - older_than
    ORDER BY i.received_at LIMIT at_most FOR UPDATE SKIP LOCKED
  ) old
  WHERE target.ctid = old.place;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END
$$;
