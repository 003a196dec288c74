-- KEYS: record
-- ARGV: "1" with the answer, "0" without it
-- Returns {now, record or nothing}.
local value = redis.call('GET', KEYS[1])
if value and ARGV[1] == '0' then value = string.sub(value, 1, read(value).answer_from - 1) end
return {now, value or ''}
