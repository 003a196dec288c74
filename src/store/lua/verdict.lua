-- The record becomes what a verdict says; as become() of decide.cc. Shared by settle and resolve.
-- KEYS: record, running, unknown, failed, due

local function become(r, state, text, reconcile_in)
  r.state, r.since, r.expires_at = state, 0, 0
  if state == COMPLETED then
    r.error, r.since, r.expires_at = '', now, now + r.retention
    keep(write(r, text), r.retention + r.tombstone)
  elseif state == FAILED then
    r.error, r.expires_at = text, now + r.retention
    keep(write(r), r.retention)
  else
    r.error, r.since = text, now + reconcile_in
    keep(write(r))
  end
end

-- `due` names what the reaper has to come back for. A completed record without a tombstone is not
-- there: the server removes it by itself.
local function index(r, member)
  if r.state == FAILED then
    redis.call('ZADD', KEYS[4], 0, member)
    redis.call('ZADD', KEYS[5], number(r.expires_at), member)
  elseif r.state == UNKNOWN then
    redis.call('ZADD', KEYS[3], 0, member)
  elseif r.tombstone > 0 then
    redis.call('ZADD', KEYS[5], number(r.expires_at), member)
  end
end
