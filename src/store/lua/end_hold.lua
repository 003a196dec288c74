-- KEYS: holds, records of the hold that are known to be settled
-- ARGV: hold, and the hold of its other records with the end of their first lease, or '' twice
-- Ends the hold and returns 1. Where a record is in progress all the same, it stays: this server has
-- taken over from one that died with the settlement, and nothing else leads to the record.
for i = 2, #KEYS do
  if string.byte(redis.call('GETRANGE', KEYS[i], 1, 1)) == IN_PROGRESS then return 0 end
end
if ARGV[2] ~= '' then redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2]) end
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
