-- KEYS: records that were reserved together
-- Returns {now, and for each that is still in progress: its number, the end of its lease}.
local answers = {now}
for i = 1, #KEYS do
  local head = redis.call('GETRANGE', KEYS[i], 0, HEAD_SIZE - 1)
  if string.byte(head, 2) == IN_PROGRESS then
    answers[#answers + 1] = i
    answers[#answers + 1] = struct.unpack('<I6', head, SINCE_AT)
  end
end
return answers
