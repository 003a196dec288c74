-- KEYS: record, holds, running, failed, due
-- ARGV: fence, fingerprint, lease, retention, tombstone, request, hold, last moment
-- Returns {1, attempt, end of the lease}, or {0, now, record} where nothing begins.

-- The caller has given up by then, so what it asked for must not begin.
if server_now > tonumber(ARGV[8]) then
  return redis.error_reply('LATE ' .. number(server_now))
end

local value = redis.call('GET', KEYS[1])
local before = value and read(value)
local held = {
  state = IN_PROGRESS, fence = ARGV[1], fingerprint = ARGV[2], attempt = 1,
  retention = tonumber(ARGV[4]), tombstone = tonumber(ARGV[5]), created_at = now,
  since = now + tonumber(ARGV[3]), expires_at = 0, request = ARGV[6], recovery = '', error = '',
  history = ''
}
local gone = before and is_gone(before)
if before and not gone then
  if before.state == IN_PROGRESS and before.fence == ARGV[1] then
    -- Sent again, as the connection broke before the answer came.
    held.attempt, held.created_at = before.attempt, before.created_at
    held.recovery, held.error, held.history = before.recovery, before.error, before.history
  elseif before.state == FAILED and before.fingerprint == ARGV[2] and before.fence ~= ARGV[1] then
    -- Under its own fence it has failed already, and this try comes late.
    held.attempt, held.created_at = before.attempt + 1, before.created_at
    held.recovery, held.error = before.recovery, before.error
    held.history = noted(before, IN_PROGRESS, held.attempt, owner_of(ARGV[6]), '')
  else
    -- Its hold may have been evicted, and nothing else leads a sweep to it. A server that refuses
    -- this can tell all the same what it knows.
    if before.state == IN_PROGRESS and now >= before.since then
      local hold = before.fence .. string.sub(ARGV[7], #before.fence + 1)
      redis.pcall('ZADD', KEYS[2], 'NX', number(before.since), hold)
    end
    local replays = before.state == COMPLETED and before.fingerprint == ARGV[2]
      and now < before.expires_at
    return {0, now, replays and value or string.sub(value, 1, before.answer_from - 1)}
  end
end
keep(write(held))
if not before or before.state ~= IN_PROGRESS then redis.call('INCR', KEYS[3]) end
redis.call('ZADD', KEYS[2], number(held.since), ARGV[7])
if before then
  redis.call('ZREM', KEYS[4], id())
  redis.call('ZREM', KEYS[5], id())
end
return {1, held.attempt, held.since}
