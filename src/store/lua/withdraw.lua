-- KEYS: record, running, failed, due
-- ARGV: fence, last moment at which its reserve could begin
-- Takes back a reserve whose caller was told that it failed; as withdrawn() of decide.h. Returns 1.
if server_now <= tonumber(ARGV[2]) then
  return redis.error_reply('EARLY ' .. number(server_now))
end
local value = redis.call('GET', KEYS[1])
local r = value and read(value)
if not r or r.state ~= IN_PROGRESS or r.fence ~= ARGV[1] then return 1 end
if r.attempt == 1 then
  redis.call('DEL', KEYS[1])
else
  r.history = without_reserve(r)
  r.attempt = r.attempt - 1
  r.state, r.since, r.expires_at = FAILED, 0, now + r.retention
  keep(write(r), r.retention)
  redis.call('ZADD', KEYS[3], 0, id())
  redis.call('ZADD', KEYS[4], number(r.expires_at), id())
end
redis.call('DECR', KEYS[2])
return 1
