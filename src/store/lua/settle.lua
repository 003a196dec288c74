-- KEYS: as in verdict.lua
-- ARGV: fence, state, answer or error, reconcile in
-- Returns {1, expires_at}, or {0, now, head of the record or nothing} where nothing changes.
local value = redis.call('GET', KEYS[1])
if not value then return {0, now, ''} end
local r = read(value)
if r.fence ~= ARGV[1] or r.state ~= IN_PROGRESS then
  return {0, now, string.sub(value, 1, r.answer_from - 1)}
end
local state = tonumber(ARGV[2])
-- A completed record says by itself when and by whom.
if state ~= COMPLETED then r.history = noted(r, state, r.attempt, owner_of(r.request), ARGV[3]) end
become(r, state, ARGV[3], tonumber(ARGV[4]))
redis.call('DECR', KEYS[2])
index(r, id())
return {1, r.state == COMPLETED and r.expires_at or 0}
