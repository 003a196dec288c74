-- wrk's side of the bench: POST with a small body and a 36-character Idempotency-Key.
--   wrk ... -s load.lua URL -- MODE PREFIX [name=number ...] [path=/...]
-- fresh    every key is new, and follows the one before it in order
-- spread   every key is new, and falls anywhere in the order, as random keys do
-- replay   the same keys again and again, in order
-- pool     the same keys again and again, at random
-- keys=N: how many for replay and pool. think_ms=N: each connection pauses between requests, up to
-- twice that long. tokens=FILE: each request bears one of its lines, at random.
-- The request is constant strings around the key, so that making it costs next to nothing.

local BODY = '{"amount":1250,"currency":"EUR","item":"sku-4711"}'
local SPREAD = 2654435761  -- odd, so multiplying by it visits every number below 2^32 once
local thread_count = 0

function setup(thread)
  thread:set("id", thread_count)
  thread_count = thread_count + 1
end

local format, random = string.format, math.random
local next_key

local function settings_of(args)
  local settings = { keys = 1000, think_ms = 0, path = "/orders" }
  for i = 3, #args do
    local name, value = args[i]:match("^([a-z_]+)=(.*)$")
    settings[name] = tonumber(value) or value
  end
  return settings
end

-- All of them have 36 characters. Known keys are the same whichever thread sends them.
local function keys_of(mode, prefix, keys)
  local count = 0
  if mode == "fresh" then
    local head = prefix .. id .. "-"
    return function() count = count + 1; return head .. format("%010d", count) end
  elseif mode == "spread" then
    local middle = "-" .. prefix:sub(1, 15) .. id .. "-"
    return function()
      count = count + 1
      return format("%08x", count * SPREAD % 4294967296) .. middle .. format("%010d", count)
    end
  elseif mode == "replay" then
    local head = prefix .. "0-"
    return function() count = count + 1; return head .. format("%010d", count % keys) end
  elseif mode == "pool" then
    local head = prefix .. "0-"
    return function() return head .. format("%010d", random(0, keys - 1)) end
  end
  error("load.lua does not know the mode " .. mode)
end

-- The parts of a request before and behind the key; with tokens, one of the ends for each.
local function ends_of(tokens)
  if not tokens then return { "\r\n\r\n" .. BODY } end
  local ends = {}
  for token in io.lines(tokens) do
    ends[#ends + 1] = "\r\nAuthorization: Bearer " .. token .. "\r\n\r\n" .. BODY
  end
  return ends
end

local head, ends

function init(args)
  local settings = settings_of(args)
  next_key = keys_of(args[1], args[2], settings.keys)
  head = "POST " .. settings.path .. " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port ..
    "\r\nContent-Type: application/json\r\nContent-Length: " .. #BODY .. "\r\nIdempotency-Key: "
  ends = ends_of(settings.tokens)
  -- wrk pauses between requests only where this function is there.
  if settings.think_ms > 0 then
    delay = function() return random(0, 2 * settings.think_ms) end
  end
end

function request()
  return head .. next_key() .. ends[#ends == 1 and 1 or random(#ends)]
end

-- One line that bench/load.py reads; wrk counts an answer above 399 as errors.status.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(format("RESULT requests=%d duration_us=%d p50_us=%d p99_us=%d p999_us=%d max_us=%d " ..
    "connect=%d read=%d write=%d timeout=%d status=%d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency:percentile(99.9), latency.max,
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
