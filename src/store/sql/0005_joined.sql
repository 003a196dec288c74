-- What the C++ library calls on a service's own connection (src/transaction/postgres_database.h), each
-- in one round trip. They take texts as they are stored, and return what the library's outcomes are made
-- of; the rules are those of the functions they call. They run with their owner's rights, as in 0002.

-- For a role that may not read oncekey.migrations.
CREATE FUNCTION oncekey.schema_version() RETURNS integer
  LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$ SELECT max(version) FROM oncekey.migrations $$;

-- A new key is the usual case: it is inserted without looking first. What is already decided is only
-- read; the rest is reserve_one()'s.
CREATE FUNCTION oncekey.reserve_joined(
    the_scope text, the_key text, the_fingerprint bytea, lease_ms bigint, the_retention_ms bigint,
    the_tombstone_ms bigint, the_method text, the_path text, the_owner text,
    OUT taken boolean, OUT moment timestamptz, OUT record oncekey.records)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
DECLARE
  one record;
BEGIN
  moment := oncekey.clock();
  INSERT INTO oncekey.records AS target
         (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt,
          scope, key, fingerprint, method, path, owner)
  VALUES (moment, oncekey.later(moment, lease_ms), oncekey.later(moment, the_retention_ms),
          oncekey.new_fence(), the_retention_ms, the_tombstone_ms, 'in_progress', 1, the_scope,
          the_key, the_fingerprint, the_method, the_path, the_owner)
  ON CONFLICT (scope, key) DO NOTHING
  RETURNING target.* INTO record;
  taken := FOUND;
  IF taken THEN
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    VALUES (record.due_at, ARRAY[the_scope], ARRAY[the_key]);
    RETURN;
  END IF;
  SELECT found.* INTO record FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key;
  moment := oncekey.clock();
  IF NOT FOUND OR oncekey.is_gone(record.state, record.due_at, record.tombstone_ms, moment)
     OR (record.state = 'failed_retryable' AND record.fingerprint = the_fingerprint) THEN
    SELECT * INTO one FROM oncekey.reserve_one(
      the_scope, the_key, the_fingerprint, oncekey.new_fence(), lease_ms, the_retention_ms,
      the_tombstone_ms, the_method, the_path, the_owner);
    taken := one.taken;
    moment := one.moment;
    record := one.record;
  END IF;
END
$$;

-- A settlement, or with in_progress a heartbeat. Not done: stale, and the rest says what the record is.
CREATE FUNCTION oncekey.settle_joined(
    the_scope text, the_key text, the_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[], body bytea,
    OUT done boolean, OUT moment timestamptz, OUT state oncekey.state, OUT due_at timestamptz,
    OUT tombstone_ms bigint)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
DECLARE
  again record;
BEGIN
  LOOP
    due_at := oncekey.settle_held(the_scope, the_key, the_fence, new_state, error, delay_ms, status,
                                  schema, encoding, headers, body);
    done := due_at IS NOT NULL;
    EXIT WHEN done;
    SELECT * INTO again FROM oncekey.settle_again(the_scope, the_key, the_fence, new_state);
    done := again.repeated;
    moment := again.moment;
    state := again.state;
    due_at := again.due_at;
    tombstone_ms := again.tombstone_ms;
    EXIT WHEN NOT again.possible;
  END LOOP;
END
$$;

-- `the_fence` 0: whatever hold was left unknown.
CREATE FUNCTION oncekey.resolve_joined(
    the_scope text, the_key text, the_fence bigint, new_state oncekey.state, error text,
    delay_ms bigint, status integer, schema smallint, encoding smallint, headers text[], body bytea,
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
    headers, body) one;
END
$$;

-- The record as it is stored; its reader looks at its age.
CREATE FUNCTION oncekey.find_joined(the_scope text, the_key text)
  RETURNS TABLE (moment timestamptz, record oncekey.records)
  LANGUAGE sql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off
  AS $$
    SELECT oncekey.clock(), found FROM oncekey.records found
    WHERE found.scope = the_scope AND found.key = the_key
  $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;
