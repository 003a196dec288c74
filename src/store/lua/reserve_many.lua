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

local answers = {}
local taken, first, refusal = 0, nil, nil
local lease, ends, times
for i = 1, many do
  local at = 3 * i - 2
  local value = redis.call('GET', KEYS[i + 2])
  if value and string.byte(value) ~= LAYOUT then
    answers[i] = redis.error_reply('a record of a later version')
  elseif value then
    local before = read(value)
    local mine = before.fingerprint == string.sub(ARGV[at], 11, 43)
    if is_gone(before) or before.state == FAILED or before.fence == string.sub(ARGV[at], 3, 10) then
      answers[i] = -1
    else
      local replays = before.state == COMPLETED and mine and now < before.expires_at
      answers[i] = {0, now, replays and value or string.sub(value, 1, before.answer_from - 1)}
    end
  elseif refusal then
    answers[i] = refusal
  else
    if ARGV[at + 2] ~= lease then
      lease = ARGV[at + 2]
      ends = now + lease
      times = struct.pack(TIMES, now, ends, 0)
    end
    local done = redis.pcall('SET', KEYS[i + 2], ARGV[at] .. times .. ARGV[at + 1])
    if done.err then
      -- Nothing was written so far: a server refuses a script's first write, or none.
      if not string.find(done.err, 'OOM', 1, true) then return done end
      refusal = done
      answers[i] = refusal
    else
      answers[i] = ends
      taken = taken + 1
      if not first or ends < first then first = ends end
    end
  end
end
if taken > 0 then
  redis.call('INCRBY', KEYS[2], taken)
  redis.call('ZADD', KEYS[1], number(first), ARGV[3 * many + 1])
end
return answers
