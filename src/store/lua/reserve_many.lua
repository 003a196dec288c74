-- Reserves of many keys, most of which are new: all of them, or reserve_each.lua goes on.
-- KEYS: holds, running, records
-- ARGV: hold, the end of its first lease, the time as the records have it, the records; last moment
-- Returns the server's time: all records were taken as they are. Otherwise as reserve_each.lua says.
local many = #KEYS - 2
if server_now > tonumber(ARGV[many + 4]) or now < ARGV[3] - STAMP_AHEAD_MAX then
  return redis.error_reply('LATE ' .. string.format('%.0f', server_now))
end

local pairs = {}
for i = 1, many do
  pairs[2 * i - 1] = KEYS[i + 2]
  pairs[2 * i] = ARGV[i + 3]
end
-- One command is quicker than one for each.
if redis.pcall('MSETNX', unpack(pairs)) == 1 then
  redis.call('INCRBY', KEYS[2], many)
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  return server_now
end
