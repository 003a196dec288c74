-- KEYS: holds
-- ARGV: history, how many, the holds: each with records that were all settled in that history of the data
-- Drops them and returns 1; 0 where the server's data has another history, which may lack settlements.
-- A server that takes over, or comes back, begins a new one.
if not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[1], 1, true) then
  return 0
end
redis.call('ZREM', KEYS[1], unpack(ARGV, 3, 2 + ARGV[2]))
return 1
