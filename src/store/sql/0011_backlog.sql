-- Sweeping, as in 0010 but for a backlog of a million holds, as applications leave it while nobody sweeps:
-- the look for what was held further went through all of them in each round, so that the call took longer
-- than a statement may, and was begun anew for ever. It looks at what the next round would take now, and a
-- call ends while there is time to commit.
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
  workflows_max constant bigint := 100;  -- looked at in a call, for those whose record is gone
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
