-- KEYS: as in verdict.lua
-- ARGV: new fence, state, answer or error, reconcile in, fence to be found ('': any),
--       who decided, reason ('': what the error says)
-- Returns as settle.lua does.
local value = redis.call('GET', KEYS[1])
if not value then return {0, now, ''} end
local r = read(value)
local state = tonumber(ARGV[2])
-- Sent again, as the connection broke before the answer came: the fence is new with every resolve.
local again = r.fence == ARGV[1] and r.state == state
if again then return {1, state == COMPLETED and r.expires_at or 0} end
local other_hold = ARGV[5] ~= '' and r.fence ~= ARGV[5]
if r.state ~= UNKNOWN or other_hold then return {0, now, string.sub(value, 1, r.answer_from - 1)} end
r.fence = ARGV[1]
if state ~= UNKNOWN then
  local reason = ARGV[7]
  if reason == '' and state == FAILED then reason = ARGV[3] end
  r.history = noted(r, state, r.attempt, ARGV[6], reason)
end
become(r, state, ARGV[3], tonumber(ARGV[4]))
if state ~= UNKNOWN then redis.call('ZREM', KEYS[3], id()) end
index(r, id())
return {1, state == COMPLETED and r.expires_at or 0}
