-- Reaped rows leave room that autovacuum makes usable again. At the pace that PostgreSQL gives it, its writes
-- held up every commit on a small machine; this is a fifth of that, in small steps, and enough for three
-- thousand new keys a second on average. Where more come, raise it (docs/stores.md, Maintenance).
ALTER TABLE oncekey.records SET (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 40);
