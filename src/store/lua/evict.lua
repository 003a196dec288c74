-- KEYS: record, unknown, failed, due
-- ARGV: fence to be found ('': any), "1" also unknown
-- Returns {1, now, head of the record} when it is gone by this, as decide_evict() of decide.h says; {0,
-- now, head of the record or nothing} where nothing changes.
local value = redis.call('GET', KEYS[1])
if not value then return {0, now, ''} end
local r = read(value)
local head = string.sub(value, 1, r.answer_from - 1)
local held = r.state == IN_PROGRESS or r.state == UNKNOWN and ARGV[2] ~= '1'
if held or is_gone(r) or ARGV[1] ~= '' and r.fence ~= ARGV[1] then return {0, now, head} end
redis.call('DEL', KEYS[1])
for i = 2, 4 do redis.call('ZREM', KEYS[i], id()) end
return {1, now, head}
