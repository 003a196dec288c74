-- Completes many records. What is not so simple is left to settle.lua.
-- KEYS: running, records
-- ARGV: for each record: its first bytes (layout, in_progress, fence), its answer
-- Returns for each record: its expires_at; {0, now, head of the record or nothing} where nothing
-- changes; -1 where settle.lua has to be asked; or an error.
local call, pcall, sub = redis.call, redis.pcall, string.sub
local answers = {}
local settled, refusal = 0, nil
local retention, milliseconds, ends, times
for i = 1, #KEYS - 1 do
  local key, at = KEYS[i + 1], 2 * i - 1
  local value = call('GET', key)
  if not value then
    answers[i] = {0, now, ''}
  elseif string.byte(value) ~= LAYOUT then
    answers[i] = redis.error_reply('a record of a later version')
  elseif sub(value, 1, 10) ~= ARGV[at] then
    answers[i] = {0, now, sub(value, 1, read(value).answer_from - 1)}
  elseif refusal then
    answers[i] = refusal
  elseif sub(value, 54, 59) ~= NO_TOMBSTONE or sub(value, 84, 86) ~= NO_ERROR then
    answers[i] = -1
  else
    if sub(value, 48, 53) ~= retention then
      retention = sub(value, 48, 53)
      milliseconds = struct.unpack('<I6', retention)
      ends = now + milliseconds
      times = struct.pack('<I6I6', now, ends)
    end
    local done = pcall('SET', key, COMPLETED_BYTES .. sub(value, 3, 65) .. times
      .. sub(value, 78) .. ARGV[at + 1], 'PX', math.max(1, milliseconds))
    if done.err then
      -- As in reserve_many.lua.
      if not string.find(done.err, 'OOM', 1, true) then return done end
      refusal = done
      answers[i] = refusal
    else
      answers[i] = ends
      settled = settled + 1
    end
  end
end
if settled > 0 then call('DECRBY', KEYS[1], settled) end
return answers
