-- Many keys of one transaction at a time, for the library's groups: requests of many clients that share a
-- commit. As postgres_reserve.sql and postgres_settle.sql do it for the gateway; whatever is not the usual
-- case is left out of the result, and asked one by one.

-- The keys that were absent and are reserved now, by their fences. The caller sorts them by scope and key
-- and names none twice, so that two groups do not wait for each other in a circle.
CREATE FUNCTION oncekey.reserve_group(
    scopes text[], keys text[], fingerprints bytea[], fences bigint[], leases_ms bigint[],
    retentions_ms bigint[], tombstones_ms bigint[], methods text[], paths text[], owners text[])
  RETURNS TABLE (fence bigint, due_at timestamptz)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  WITH made AS (
    INSERT INTO oncekey.records AS target
           (created_at, due_at, shelf_until, fence, retention_ms, tombstone_ms, state, attempt, scope,
            key, fingerprint, method, path, owner)
    SELECT moment, moment + w.lease_ms * interval '1 millisecond',
           moment + w.retention_ms * interval '1 millisecond', w.fence, w.retention_ms,
           w.tombstone_ms, 'in_progress', 1, w.scope, w.key, w.fingerprint, w.method, w.path, w.owner
    FROM unnest(scopes, keys, fingerprints, fences, leases_ms, retentions_ms, tombstones_ms, methods,
                paths, owners)
         AS w (scope, key, fingerprint, fence, lease_ms, retention_ms, tombstone_ms, method, path,
               owner)
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING target.fence, target.due_at, target.scope, target.key
  ), held AS (
    INSERT INTO oncekey.holds (lease_until, scopes, keys)
    SELECT min(made.due_at), array_agg(made.scope), array_agg(made.key) FROM made
    HAVING count(*) > 0
  )
  SELECT made.fence, made.due_at FROM made;
END
$$;

-- Completes records that are held under these fences; the rules are those of settle_held(). Not for
-- workflows, which have a row of their own to end.
CREATE FUNCTION oncekey.complete_group(
    scopes text[], keys text[], fences bigint[], statuses integer[], schemas smallint[],
    encodings smallint[], headers text[], bodies bytea[])
  RETURNS TABLE (fence bigint, due_at timestamptz)
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := oncekey.clock();
BEGIN
  RETURN QUERY
  UPDATE oncekey.records target
    SET state = 'completed', due_at = moment + target.retention_ms * interval '1 millisecond',
        shelf = 0, completed_at = moment, last_error = '', response_status = s.status,
        response_schema = s.schema, response_encoding = s.encoding,
        response_headers = s.headers::text[], response_body = s.body
    FROM (
      SELECT w.fence, w.status, w.schema, w.encoding, w.headers, w.body, r.place
      FROM unnest(scopes, keys, fences, statuses, schemas, encodings, headers, bodies)
           AS w (scope, key, fence, status, schema, encoding, headers, body)
      CROSS JOIN LATERAL (
        SELECT found.ctid AS place FROM oncekey.records found
        WHERE found.scope = w.scope AND found.key = w.key
        OFFSET 0
      ) r
    ) s
    WHERE target.ctid = s.place AND target.fence = s.fence AND target.state = 'in_progress'
      AND target.attempt = 1
    RETURNING target.fence, target.due_at;
END
$$;

-- Messages in the order given; as enqueue_one() for each.
CREATE FUNCTION oncekey.enqueue_group(destinations text[], payloads bytea[], message_keys text[],
                                      aggregates text[], headers text[]) RETURNS void
  LANGUAGE plpgsql VOLATILE SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  AS $$
DECLARE
  moment timestamptz := oncekey.clock();
BEGIN
  INSERT INTO oncekey.outbox
         (created_at, due_at, destination, message_key, aggregate, headers, payload)
  SELECT moment, moment, w.destination,
         CASE WHEN w.message_key = '' THEN gen_random_uuid()::text ELSE w.message_key END,
         w.aggregate, w.headers::text[], w.payload
  FROM unnest(destinations, payloads, message_keys, aggregates, headers)
       WITH ORDINALITY AS w (destination, payload, message_key, aggregate, headers, place)
  ORDER BY w.place;
  IF NOT pg_try_advisory_xact_lock_shared(oncekey.outbox_lock()) THEN
    PERFORM pg_notify('oncekey_outbox', '');
  END IF;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA oncekey FROM PUBLIC;
