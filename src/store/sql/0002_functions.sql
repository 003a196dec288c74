-- What applications call inside their own transactions. docs/sql.md explains the sequence.
--
-- They run with the rights of the schema's owner, so that a role needs nothing but USAGE on the schema
-- and EXECUTE on these; the tables stay closed to it. Therefore each has a fixed search path, and
-- names everything with its schema.
--
-- The rules are those of the functions of 0001, which they call; nothing is decided twice. Texts are
-- escaped as the gateway does (see the comment on oncekey.records.scope).

CREATE FUNCTION oncekey.escaped(plain text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT pg_catalog.replace(plain, '\', '\\') $$;

-- Bytes that are not text, which only a gateway stores, stay as \nnn.
CREATE FUNCTION oncekey.unescaped(stored text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$ SELECT pg_catalog.replace(stored, '\\', '\') $$;

CREATE FUNCTION oncekey.refuse(message text, hint text) RETURNS void
  LANGUAGE plpgsql IMMUTABLE
  AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'oncekey: ' || message, HINT = hint;
END
$$;

-- The limits are those of the gateway's settings of the same names.
CREATE FUNCTION oncekey.check_id(scope text, key text) RETURNS void
  LANGUAGE plpgsql IMMUTABLE
  AS $$
BEGIN
  IF scope IS NULL OR length(scope) > 255 THEN
    PERFORM oncekey.refuse('the scope must be a text of at most 255 characters',
                           'Pass the tenant whose key it is, or an empty text if there is only one.');
  END IF;
  IF key IS NULL OR key = '' OR length(key) > 255 THEN
    PERFORM oncekey.refuse('the key must be a text of 1 to 255 characters',
                           'Pass the value of the client''s Idempotency-Key header.');
  END IF;
END
$$;

-- `name` is that of the argument. Rounded up, so that a time above zero never becomes none.
CREATE FUNCTION oncekey.checked_ms(name text, span interval, at_least interval, at_most interval)
  RETURNS bigint
  LANGUAGE plpgsql IMMUTABLE
  AS $$
BEGIN
  IF span IS NULL OR span < at_least OR span > at_most THEN
    PERFORM oncekey.refuse(format('%s must be from %s to %s, and is %s', name, at_least, at_most,
                                  coalesce(span::text, 'null')),
                           format('For example: %s => interval ''1 minute''', name));
  END IF;
  RETURN ceil(extract(epoch FROM span) * 1000);
END
$$;

-- From {"name": "value" | ["value", …]}, or [["name", "value"], …], to name, value, name, value, …
-- A gateway may send them to a client: nothing that could end a header line gets in.
CREATE FUNCTION oncekey.headers_to_store(headers jsonb) RETURNS text[]
  LANGUAGE plpgsql IMMUTABLE
  AS $$
DECLARE
  stored text[] := '{}';
  pair record;
BEGIN
  IF headers IS NULL OR jsonb_typeof(headers) = 'null' THEN
    RETURN stored;
  ELSIF jsonb_typeof(headers) NOT IN ('object', 'array') THEN
    PERFORM oncekey.refuse('headers must be a JSON object or an array of pairs',
                           'For example: ''{"content-type": "application/json"}''');
  END IF;
  FOR pair IN
    SELECT to_jsonb(o.key) AS name, v.value
    FROM jsonb_each(CASE WHEN jsonb_typeof(headers) = 'object' THEN headers ELSE '{}' END) o
    CROSS JOIN LATERAL jsonb_array_elements(
      CASE WHEN jsonb_typeof(o.value) = 'array' THEN o.value ELSE jsonb_build_array(o.value) END) v
    UNION ALL
    SELECT CASE WHEN jsonb_typeof(a.value) = 'array' AND jsonb_array_length(a.value) = 2
                THEN a.value -> 0 END,
           a.value -> 1
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(headers) = 'array' THEN headers ELSE '[]' END) a
  LOOP
    IF jsonb_typeof(pair.name) IS DISTINCT FROM 'string'
       OR jsonb_typeof(pair.value) IS DISTINCT FROM 'string'
       OR pair.name #>> '{}' !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$'
       OR pair.value #>> '{}' ~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]' THEN
      PERFORM oncekey.refuse(
        format('this is not a header: %s: %s', coalesce(pair.name::text, 'null'),
               coalesce(pair.value::text, 'null')),
        'A name is an HTTP token, a value a text without control characters.');
    END IF;
    stored := stored || oncekey.escaped(pair.name #>> '{}') || oncekey.escaped(pair.value #>> '{}');
  END LOOP;
  RETURN stored;
END
$$;

-- The other way round, as an object; a name that occurs more than once has an array.
CREATE FUNCTION oncekey.headers_of(stored text[]) RETURNS jsonb
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  AS $$
    SELECT coalesce(jsonb_object_agg(
             oncekey.unescaped(named.name),
             CASE WHEN named.count = 1 THEN named.all_values -> 0 ELSE named.all_values END),
           '{}')
    FROM (
      SELECT stored[i] AS name, count(*) AS count,
             jsonb_agg(oncekey.unescaped(stored[i + 1]) ORDER BY i) AS all_values
      FROM generate_series(1, cardinality(stored) - 1, 2) i
      GROUP BY stored[i]
    ) named
  $$;

CREATE FUNCTION oncekey.encoding_name(schema smallint, encoding smallint) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$
    SELECT CASE WHEN schema IS NULL THEN NULL
                WHEN schema = 1 AND encoding = 0 THEN 'identity'
                WHEN schema = 1 AND encoding = 1 THEN 'zstd'
                ELSE 'unsupported' END
  $$;

-- Takes the key, or says what became of it. Only `execute` is a licence to do the work; its fence
-- goes into complete(), fail() and the others.
--
-- A key that another open transaction has taken makes this wait until that one ends. What is already
-- decided is only read: a replay neither locks nor writes.
CREATE FUNCTION oncekey.reserve(
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
    IF response_encoding = 'unsupported' THEN
      RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'oncekey: the stored answer was written by a newer version',
        HINT = 'Run the newer oncekey migrate on this database.';
    END IF;
  ELSE
    decision := 'expired';
  END IF;
END
$$;

-- Settles one record, or extends its lease, through settle_held(); false: the fence is stale, and
-- nothing was changed. Repeating what was already settled under the same fence is true again.
CREATE FUNCTION oncekey.settle_one(
    scope text, key text, fence bigint, state oncekey.state, error text, delay_ms bigint,
    status integer, headers text[], body bytea) RETURNS boolean
  LANGUAGE plpgsql VOLATILE
  AS $$
DECLARE
  the_scope text := oncekey.escaped(settle_one.scope);
  the_key text := oncekey.escaped(settle_one.key);
  again record;
BEGIN
  PERFORM oncekey.check_id(settle_one.scope, settle_one.key);
  IF settle_one.fence IS NULL THEN
    PERFORM oncekey.refuse('the fence is missing', 'Pass the fence that oncekey.reserve() returned.');
  END IF;
  LOOP
    IF oncekey.settle_held(
         the_scope, the_key, settle_one.fence, settle_one.state,
         oncekey.escaped(coalesce(settle_one.error, '')), settle_one.delay_ms, settle_one.status,
         (CASE WHEN settle_one.status IS NOT NULL THEN 1 END)::smallint,
         (CASE WHEN settle_one.status IS NOT NULL THEN 0 END)::smallint,
         settle_one.headers, settle_one.body) IS NOT NULL THEN
      RETURN true;
    END IF;
    SELECT * INTO again FROM oncekey.settle_again(the_scope, the_key, settle_one.fence,
                                                  settle_one.state);
    IF NOT again.possible THEN
      RETURN again.repeated;
    END IF;
  END LOOP;
END
$$;

-- The work is done, and this is its answer. A null status: done, but the answer is not kept.
CREATE FUNCTION oncekey.complete(scope text, key text, fence bigint, status integer,
                                 headers jsonb DEFAULT '{}', body bytea DEFAULT '')
  RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  IF complete.status NOT BETWEEN 200 AND 599 THEN
    PERFORM oncekey.refuse(format('the status must be from 200 to 599, and is %s', complete.status),
                           'Pass the HTTP status that the client was, or would be, sent.');
  END IF;
  RETURN oncekey.settle_one(
    complete.scope, complete.key, complete.fence, 'completed', '', 0, complete.status,
    CASE WHEN complete.status IS NOT NULL THEN oncekey.headers_to_store(complete.headers) END,
    CASE WHEN complete.status IS NOT NULL THEN coalesce(complete.body, '') END);
END
$$;

-- Nothing was done: the next reserve() with the same fingerprint executes.
CREATE FUNCTION oncekey.fail(scope text, key text, fence bigint, error text DEFAULT '')
  RETURNS boolean
  LANGUAGE sql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$ SELECT oncekey.settle_one(scope, key, fence, 'failed_retryable', error, 0, NULL, NULL, NULL) $$;

-- It may have been done: nobody executes until an operator or a reconciler has found out.
CREATE FUNCTION oncekey.mark_unknown(scope text, key text, fence bigint, error text DEFAULT '',
                                     reconcile_in interval DEFAULT '0 seconds') RETURNS boolean
  LANGUAGE sql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
    SELECT oncekey.settle_one(scope, key, fence, 'unknown', error,
                              oncekey.checked_ms('reconcile_in', reconcile_in, '0', '3650 days'),
                              NULL, NULL, NULL)
  $$;

-- The owner is alive: its lease starts anew.
CREATE FUNCTION oncekey.heartbeat(scope text, key text, fence bigint,
                                  lease interval DEFAULT '60 seconds') RETURNS boolean
  LANGUAGE sql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
    SELECT oncekey.settle_one(scope, key, fence, 'in_progress', '',
                              oncekey.checked_ms('lease', lease, '1 millisecond', '1 day'),
                              NULL, NULL, NULL)
  $$;

-- A step is done: where the next attempt goes on, and what it needs for that.
CREATE FUNCTION oncekey.advance(scope text, key text, fence bigint, recovery_point text,
                                phase_data jsonb DEFAULT NULL) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
BEGIN
  PERFORM oncekey.check_id(advance.scope, advance.key);
  IF advance.fence IS NULL THEN
    PERFORM oncekey.refuse('the fence is missing', 'Pass the fence that oncekey.reserve() returned.');
  ELSIF advance.recovery_point IS NULL OR length(advance.recovery_point) > 255 THEN
    PERFORM oncekey.refuse('the recovery point must be a text of at most 255 characters',
                           'Name the step that was finished, such as ''charge_created''.');
  END IF;
  UPDATE oncekey.records target
    SET recovery_point = oncekey.escaped(advance.recovery_point), phase_data = advance.phase_data
    WHERE target.scope = oncekey.escaped(advance.scope) AND target.key = oncekey.escaped(advance.key)
      AND target.fence = advance.fence AND target.state = 'in_progress';
  RETURN FOUND;
END
$$;

-- What is known of a key; no row: nothing, or no longer. Reads only, and waits for nobody.
CREATE FUNCTION oncekey.lookup(scope text, key text)
  RETURNS TABLE (state text, attempt integer, fence bigint, fingerprint bytea, method text, path text,
                 owner text, recovery_point text, phase_data jsonb, last_error text,
                 created_at timestamptz, locked_until timestamptz, reconcile_after timestamptz,
                 completed_at timestamptz, expires_at timestamptz, response_status integer,
                 response_headers jsonb, response_body bytea, response_encoding text)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
#variable_conflict use_column
DECLARE
  known oncekey.records;
  over boolean;
BEGIN
  PERFORM oncekey.check_id(lookup.scope, lookup.key);
  SELECT found.* INTO known FROM oncekey.records found
    WHERE found.scope = oncekey.escaped(lookup.scope) AND found.key = oncekey.escaped(lookup.key);
  IF NOT FOUND
     OR oncekey.is_gone(known.state, known.due_at, known.tombstone_ms, oncekey.clock()) THEN
    RETURN;
  END IF;
  -- The reaper will turn it into its tombstone; until then it only looks like one.
  over := known.state = 'completed' AND oncekey.clock() >= known.due_at;
  IF over THEN
    known.state := 'expired';
    known.due_at := oncekey.later(known.due_at, known.tombstone_ms);
  END IF;
  state := known.state::text;
  attempt := known.attempt;
  fence := known.fence;
  fingerprint := known.fingerprint;
  method := oncekey.unescaped(known.method);
  path := oncekey.unescaped(known.path);
  owner := oncekey.unescaped(known.owner);
  recovery_point := oncekey.unescaped(known.recovery_point);
  phase_data := known.phase_data;
  last_error := oncekey.unescaped(known.last_error);
  created_at := known.created_at;
  locked_until := CASE WHEN known.state = 'in_progress' THEN known.due_at END;
  reconcile_after := CASE WHEN known.state = 'unknown' THEN known.due_at END;
  completed_at := known.completed_at;
  expires_at := CASE WHEN known.state IN ('completed', 'failed_retryable', 'expired')
                     THEN known.due_at END;
  IF NOT over THEN
    response_encoding := oncekey.encoding_name(known.response_schema, known.response_encoding);
    IF response_encoding <> 'unsupported' THEN
      response_status := known.response_status;
      response_headers := oncekey.headers_of(known.response_headers);
      response_body := known.response_body;
    END IF;
  END IF;
  RETURN NEXT;
END
$$;

-- PostgreSQL lets everyone execute a new function. Here nobody may who was not named.
REVOKE ALL ON SCHEMA oncekey FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA oncekey FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;
