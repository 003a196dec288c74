-- Completes many records that their caller reserved itself, so that it knows what becomes of each.
-- What is not so simple is left to settle.lua.
-- KEYS: running, records
-- ARGV: the time as the records have it, how long they are kept; for each record: its first bytes while
--       in progress (layout, state, fence), the completed record
-- Returns the server's time: all are completed. Otherwise for each record 1, or -1 where settle.lua
-- has to be asked.
if now < ARGV[1] - STAMP_AHEAD_MAX or now > ARGV[1] + STAMP_BEHIND_MAX then
  return redis.error_reply('LATE ' .. string.format('%.0f', server_now))
end
local KEYS, ARGV = KEYS, ARGV
local call, pcall = redis.call, redis.pcall
local many = #KEYS - 1
local left
local settled = 0
-- Texts, because a number would be written out anew for each record; and a moment, because a server
-- turns how long into one for its file.
local ending = string.format('%.0f', server_now + ARGV[2])
for i = 1, many do
  local key, at = KEYS[i + 1], 2 * i + 1
  -- A server refuses a script's first write, or none.
  if call('GETRANGE', key, '0', '9') == ARGV[at] and not pcall('SET', key, ARGV[at + 1], 'PXAT', ending).err then
    settled = settled + 1
  else
    left = left or {}
    left[i] = true
  end
end
if settled > 0 then call('DECRBY', KEYS[1], settled) end
if not left then return server_now end
local answers = {}
for i = 1, many do answers[i] = left[i] and -1 or 1 end
return answers
