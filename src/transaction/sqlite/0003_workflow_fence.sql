-- The hold that a workflow runs under. Somebody else's hold on the same key, after the workflow failed, is
-- nobody's workflow: when its lease runs out it becomes unknown and is not resumed.
ALTER TABLE oncekey_workflows ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
UPDATE oncekey_workflows SET fence = coalesce(
  (SELECT r.fence FROM oncekey_records AS r
   WHERE r.scope = oncekey_workflows.scope AND r.key = oncekey_workflows.key), 0);
