-- KEYS: record, failed, due
-- Returns 1 when something was removed, or turned into its tombstone.
local value = redis.call('GET', KEYS[1])
local r = value and read(value)
if r and not is_gone(r) then
  if r.state == FAILED then return 0 end
  local over = r.state == COMPLETED and now >= r.expires_at
  if r.state == COMPLETED and not over and r.tombstone > 0 then return 0 end
  if over then
    r.state, r.expires_at = EXPIRED, r.expires_at + r.tombstone
    redis.call('SET', KEYS[1], write(r), 'KEEPTTL')
    redis.call('ZREM', KEYS[2], id())
    redis.call('ZADD', KEYS[3], number(r.expires_at), id())
    return 1
  end
  if r.state == EXPIRED then return 0 end
elseif r then
  redis.call('DEL', KEYS[1])
end
redis.call('ZREM', KEYS[2], id())
return redis.call('ZREM', KEYS[3], id())
