-- KEYS: record, running, unknown
-- ARGV: fence, why
-- Returns 1 when the record is unknown by this sweep, as decide_sweep() of decide.h says; 0 when there
-- is no work in progress any more; otherwise the end of its lease.
local value = redis.call('GET', KEYS[1])
local r = value and read(value)
if r and r.state == UNKNOWN and r.fence == ARGV[1] then return 1 end
if not r or r.state ~= IN_PROGRESS then
  return 0
end
if now < r.since then return r.since end
r.history = noted(r, UNKNOWN, r.attempt, '', ARGV[2])
r.state, r.since, r.expires_at = UNKNOWN, now, 0
r.fence, r.error = ARGV[1], ARGV[2]
keep(write(r))
redis.call('ZADD', KEYS[3], 0, id())
redis.call('DECR', KEYS[2])
return 1
