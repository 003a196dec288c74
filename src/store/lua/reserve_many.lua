-- Reserves of many keys, most of which are new. What is not so simple is left to reserve.lua.
-- KEYS: holds, running, records
-- ARGV: for each record: its head up to the times, the rest of its head and its request, its lease;
--       then hold, last moment
-- Returns for each record: the end of its lease where it was taken; {0, now, record} where nothing
-- begins; -1 where reserve.lua has to be asked; or an error.
local many = #KEYS - 2
if server_now > tonumber(ARGV[3 * many + 2]) then
  return redis.error_reply('LATE ' .. number(server_now))
end

local function standing(value, head)
  if string.byte(value) > LAYOUT_WITH_HISTORY then return redis.error_reply('a record of a later version') end
  local before = read(value)
  if is_gone(before) or before.state == FAILED or before.fence == string.sub(head, 3, 10) then
    return -1
  end
  if before.state == IN_PROGRESS and now >= before.since then return -1 end
  local replays = before.state == COMPLETED and before.fingerprint == string.sub(head, 11, 43)
    and now < before.expires_at
  return {0, now, replays and value or string.sub(value, 1, before.answer_from - 1)}
end

local call, pcall = redis.call, redis.pcall
local pairs = {}
local leases_end = {}
local lease, ends, times
for i = 1, many do
  local at = 3 * i - 2
  if ARGV[at + 2] ~= lease then
    lease = ARGV[at + 2]
    ends = now + lease
    times = struct.pack(TIMES, now, ends, 0)
  end
  leases_end[i] = ends
  pairs[2 * i - 1] = KEYS[i + 2]
  pairs[2 * i] = ARGV[at] .. times .. ARGV[at + 1]
end

local answers = {}
local taken, first = 0, nil
local function take(i)
  answers[i] = leases_end[i]
  taken = taken + 1
  if not first or answers[i] < first then first = answers[i] end
end

-- All or none: mostly all are new, and one command is quicker than one for each.
if pcall('MSETNX', unpack(pairs)) == 1 then
  for i = 1, many do take(i) end
else
  local refusal
  for i = 1, many do
    local key = KEYS[i + 2]
    -- False: the key is there.
    local done = refusal or pcall('SET', key, pairs[2 * i], 'NX')
    if done and not done.err then
      take(i)
    else
      if done and not may_be_read(done.err) then
        return done  -- nothing was written so far: a server refuses a script's first write, or none
      end
      -- Such a server refuses before it has looked whether there is anything to write.
      refusal = done or refusal
      local value = call('GET', key)
      answers[i] = value and standing(value, ARGV[3 * i - 2]) or refusal
    end
  end
end
if taken > 0 then
  call('INCRBY', KEYS[2], taken)
  call('ZADD', KEYS[1], number(first), ARGV[3 * many + 1])
end
return answers
