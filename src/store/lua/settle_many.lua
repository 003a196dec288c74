-- Completes many records. What is not so simple is left to settle.lua.
-- KEYS: running, records
-- ARGV: for each record: its first bytes (layout, in_progress, fence), its answer
-- Returns for each record: its expires_at; {0, now, head of the record or nothing} where nothing
-- changes; -1 where settle.lua has to be asked; or an error.
local call, pcall = redis.call, redis.pcall
local sub, byte = string.sub, string.byte
local answers = {}
local settled, refusal = 0, nil
local terms, keeps_tombstone, lifetime, ends, times  -- terms: retention and tombstone, as in the head
for i = 1, #KEYS - 1 do
  local key, at = KEYS[i + 1], 2 * i - 1
  local value = call('GET', key)
  if not value then
    answers[i] = {0, now, ''}
  elseif sub(value, 1, 10) ~= ARGV[at] then
    if byte(value) > LAYOUT_WITH_HISTORY then
      answers[i] = redis.error_reply('a record of a later version')
    elseif byte(value) == LAYOUT_WITH_HISTORY then
      answers[i] = -1
    else
      answers[i] = {0, now, sub(value, 1, read(value).answer_from - 1)}
    end
  elseif refusal then
    answers[i] = refusal
  else
    if sub(value, 48, 59) ~= terms then
      terms = sub(value, 48, 59)
      keeps_tombstone = sub(terms, 7) ~= NO_TOMBSTONE
      local milliseconds = struct.unpack('<I6', terms)
      lifetime = number(math.max(1, milliseconds))
      ends = now + milliseconds
      times = struct.pack('<I6I6', now, ends)
    end
    local e1, e2, e3 = byte(value, 84, 86)  -- the size of the last error
    if keeps_tombstone or e1 + e2 + e3 > 0 then
      answers[i] = -1
    else
      local done = pcall('SET', key, COMPLETED_BYTES .. sub(value, 3, 65) .. times
        .. sub(value, 78) .. ARGV[at + 1], 'PX', lifetime)
      if done.err then
        -- As in reserve_many.lua.
        if not may_be_read(done.err) then return done end
        refusal = done
        answers[i] = refusal
      else
        answers[i] = ends
        settled = settled + 1
      end
    end
  end
end
if settled > 0 then call('DECRBY', KEYS[1], settled) end
return answers
