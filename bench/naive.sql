-- What a service does that keeps its keys itself: pgbench runs it, each statement in a transaction of
-- its own. Keys are random and have 36 characters.
\set a random(1, 9223372036854775807)
\set b random(1, 9223372036854775807)
INSERT INTO keys (tenant, key, status) VALUES ('default', lpad(to_hex(:a::bigint), 16, '0') || lpad(:b::bigint::text, 20, '0'), 'in_progress') ON CONFLICT (tenant, key) DO NOTHING;
UPDATE keys SET status = 'completed', response = :response WHERE tenant = 'default' AND key = lpad(to_hex(:a::bigint), 16, '0') || lpad(:b::bigint::text, 20, '0');
