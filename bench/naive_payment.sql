-- The rows of a payment as a service writes them that has no boundary: key, payment and message, each in
-- a transaction of its own. pgbench runs it.
\set a random(1, 9223372036854775807)
\set b random(1, 9223372036854775807)
INSERT INTO naive_keys (tenant, key, status, response) VALUES ('default', lpad(to_hex(:a::bigint), 16, '0') || lpad(:b::bigint::text, 20, '0'), 'completed', '{"id":"pay_0123456789abcdef","status":"pending","amount":1250}') ON CONFLICT (tenant, key) DO NOTHING;
INSERT INTO naive_payments (key, amount, currency, status) VALUES (lpad(to_hex(:a::bigint), 16, '0') || lpad(:b::bigint::text, 20, '0'), 1250, 'EUR', 'pending');
INSERT INTO naive_outbox (destination, message_key, payload) VALUES ('provider', lpad(to_hex(:a::bigint), 16, '0') || lpad(:b::bigint::text, 20, '0'), '{"amount":1250,"currency":"EUR"}');
