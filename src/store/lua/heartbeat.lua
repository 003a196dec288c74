-- KEYS: record
-- ARGV: fence, lease
-- Returns {1, end of the lease}, or {0, now, head of the record or nothing}.
local value = redis.call('GET', KEYS[1])
if not value then return {0, now, ''} end
local r = read(value)
if r.fence ~= ARGV[1] or r.state ~= IN_PROGRESS then
  return {0, now, string.sub(value, 1, r.answer_from - 1)}
end
r.since = now + tonumber(ARGV[2])
keep(write(r))
return {1, r.since}
