-- Goes on where reserve_many.lua found that not all keys are new, or that nothing can be written. What
-- is not so simple is left to reserve.lua.
-- Returns for each record: the end of its lease where it was taken; {0, now, record} where nothing
-- begins; -1 where reserve.lua has to be asked; or an error.
local function standing(value, record)
  if string.byte(value) > LAYOUT_WITH_HISTORY then return redis.error_reply('a record of a later version') end
  local before = read(value)
  if is_gone(before) or before.state == FAILED or before.fence == string.sub(record, 3, 10) then
    return -1
  end
  if before.state == IN_PROGRESS and now >= before.since then return -1 end
  local replays = before.state == COMPLETED and before.fingerprint == string.sub(record, 11, 43)
    and now < before.expires_at
  return {0, now, replays and value or string.sub(value, 1, before.answer_from - 1)}
end

local answers = {}
local taken, first, refusal = 0, nil, nil
for i = 1, many do
  local key, record = pairs[2 * i - 1], pairs[2 * i]
  -- False: the key is there.
  local done = refusal or redis.pcall('SET', key, record, 'NX')
  if done and not done.err then
    answers[i] = struct.unpack('<I6', record, SINCE_AT)
    taken = taken + 1
    if not first or answers[i] < first then first = answers[i] end
  else
    if done and not may_be_read(done.err) then
      return done  -- nothing was written so far: a server refuses a script's first write, or none
    end
    -- Such a server refuses before it has looked whether there is anything to write.
    refusal = done or refusal
    local value = redis.call('GET', key)
    answers[i] = value and standing(value, record) or refusal
  end
end
if taken > 0 then
  redis.call('INCRBY', KEYS[2], taken)
  redis.call('ZADD', KEYS[1], number(first), ARGV[1])
end
return answers
