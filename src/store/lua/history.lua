-- What a record remembers of its past. The bytes and the rules are those of boundary/history.h.
local ENTRY = '<I4I6BI4I2I2'  -- dropped, at, state, attempt, sizes of the texts: by whom, reason
local ENTRY_SIZE = 19
local KEPT_MAX, TEXT_MAX = 32, 256

-- Not within a character.
local function cut(text)
  if #text <= TEXT_MAX then return text end
  local size = TEXT_MAX
  while size > 0 and math.floor(string.byte(text, size + 1) / 64) == 2 do size = size - 1 end
  return string.sub(text, 1, size)
end

local function entry(at, state, attempt, by, reason)
  by, reason = cut(by), cut(reason)
  return struct.pack(ENTRY, 0, at, state, attempt, #by, #reason) .. by .. reason
end

-- The third text of a request; each has its size before it, in base 128.
local function owner_of(request)
  local at, text = 1, ''
  for _ = 1, 3 do
    local size, scale, byte = 0, 1, nil
    repeat
      byte = string.byte(request, at)
      at, size, scale = at + 1, size + byte % 128 * scale, scale * 128
    until byte < 128
    text = string.sub(request, at, at + size - 1)
    at = at + size
  end
  return text
end

-- Where its entries begin.
local function starts_of(history)
  local starts, at = {}, 1
  while at <= #history do
    starts[#starts + 1] = at
    local _, _, _, _, by_size, reason_size = struct.unpack(ENTRY, history, at)
    at = at + ENTRY_SIZE + by_size + reason_size
  end
  return starts
end

-- The history of a record that was `r`, and becomes `state` now.
local function noted(r, state, attempt, by, reason)
  local history = r.history
  if history == '' then
    history = entry(r.created_at, IN_PROGRESS, 1, r.attempt == 1 and owner_of(r.request) or '', '')
  end
  local starts = starts_of(history)
  if #starts >= KEPT_MAX then
    local second, third = starts[2], starts[3]
    local dropped = struct.unpack('<I4', history, second) + struct.unpack('<I4', history, third) + 1
    history = string.sub(history, 1, second - 1) .. struct.pack('<I4', dropped)
      .. string.sub(history, third + 4)
  end
  return history .. entry(now, state, attempt, by, reason)
end

-- Without the reservation that the record is in progress by.
local function without_reserve(r)
  local starts = starts_of(r.history)
  local last = starts[#starts]
  if not last then return '' end
  local _, _, state, attempt = struct.unpack(ENTRY, r.history, last)
  if state ~= IN_PROGRESS or attempt ~= r.attempt then return r.history end
  return string.sub(r.history, 1, last - 1)
end
