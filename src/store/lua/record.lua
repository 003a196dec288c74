-- A record is one string: a head of fixed size, then bytes that are only carried along.
--
--   layout, state, fence (8 bytes), fingerprint (33 bytes), attempt, retention, tombstone,
--   created_at, since, expires_at, sizes of the three texts below
--   with history: its size
--   request (method, path, owner), recovery point, last error, history, answer (completed only)
--
-- `since` is when the lease ends (in_progress), when to look again (unknown), or when it was
-- completed. A fence has 63 bits, which a Lua number does not: it stays a string. The program reads
-- records in redis_record.cc; only these scripts write them.
local HEAD = '<BBc8c33I4I6I6I6I6I6I3I3I3'
local HEAD_SIZE = 86
local LAYOUT, LAYOUT_WITH_HISTORY = 1, 2
-- Parts of a head, for scripts that take it apart by hand.
local SINCE_AT = 66
local NO_TOMBSTONE = string.rep('\0', 6)
local COMPLETED_BYTES = '\1\2'  -- layout and state
local IN_PROGRESS, COMPLETED, FAILED, UNKNOWN, EXPIRED = 1, 2, 3, 4, 5

local function read(value)
  local r = {}
  local layout, request_size, recovery_size, error_size
  layout, r.state, r.fence, r.fingerprint, r.attempt, r.retention, r.tombstone, r.created_at,
    r.since, r.expires_at, request_size, recovery_size, error_size = struct.unpack(HEAD, value)
  if layout > LAYOUT_WITH_HISTORY then error('a record of a later version') end
  local from, history_size = HEAD_SIZE + 1, 0
  if layout == LAYOUT_WITH_HISTORY then history_size, from = struct.unpack('<I3', value, from) end
  r.request = string.sub(value, from, from + request_size - 1)
  from = from + request_size
  r.recovery = string.sub(value, from, from + recovery_size - 1)
  from = from + recovery_size
  r.error = string.sub(value, from, from + error_size - 1)
  from = from + error_size
  r.history = string.sub(value, from, from + history_size - 1)
  r.answer_from = from + history_size
  return r
end

local function write(r, answer)
  local layout, history_size = LAYOUT, ''
  if r.history ~= '' then
    layout, history_size = LAYOUT_WITH_HISTORY, struct.pack('<I3', #r.history)
  end
  return struct.pack(HEAD, layout, r.state, r.fence, r.fingerprint, r.attempt, r.retention,
    r.tombstone, r.created_at, r.since, r.expires_at, #r.request, #r.recovery, #r.error)
    .. history_size .. r.request .. r.recovery .. r.error .. r.history .. (answer or '')
end

-- As is_gone() of decide.h.
local function is_gone(r)
  if r.state == COMPLETED then return now >= r.expires_at + r.tombstone end
  if r.state == FAILED or r.state == EXPIRED then return now >= r.expires_at end
  return false
end

-- Whether a server refuses writes for a reason that leaves what it has to be read: it is full, cannot
-- save, or has too few replicas. Up to version 6.2 the code comes after the script's name and line.
local function may_be_read(err)
  local code = string.match(err, '^(%u+)') or string.match(err, '^@.- %-(%u+)')
  return code == 'OOM' or code == 'MISCONF' or code == 'NOREPLICAS'
end

local function number(value)
  return string.format('%.0f', value)
end

-- Part of KEYS[1], and the record's name in the indexes.
local function id()
  local _, last = string.find(KEYS[1], '}:r:', 1, true)
  return string.sub(KEYS[1], last + 1)
end

-- Writes come in this order everywhere: first the record, which a full server may refuse, so that
-- a refused script has changed nothing; then the count of what is running; then the indexes.
local function keep(value, milliseconds)
  if milliseconds then
    redis.call('SET', KEYS[1], value, 'PX', number(math.max(1, milliseconds)))
  else
    redis.call('SET', KEYS[1], value)
  end
end
