-- wrk's side of the bench: POST with a small body and a 36-character Idempotency-Key.
--   wrk ... -s load.lua URL -- fresh PREFIX     every key is new
--   wrk ... -s load.lua URL -- replay PREFIX    the same 1,000 keys again and again
-- The request is two constant strings around the key, so that making it costs next to nothing.

local KEYS_REPLAYED = 1000
local BODY = '{"amount":1250,"currency":"EUR","item":"sku-4711"}'
local thread_count = 0

function setup(thread)
  thread:set("id", thread_count)
  thread_count = thread_count + 1
end

local head, tail, count, limit

function init(args)
  limit = args[1] == "replay" and KEYS_REPLAYED or nil
  -- 24 characters of prefix, a digit for the thread, a dash and 10 digits make 36.
  local thread_digit = limit and 0 or id
  head = "POST /orders HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port ..
    "\r\nContent-Type: application/json\r\nContent-Length: " .. #BODY ..
    "\r\nIdempotency-Key: " .. args[2] .. thread_digit .. "-"
  tail = "\r\n\r\n" .. BODY
  count = 0
end

local format = string.format

function request()
  count = count + 1
  local n = limit and count % limit or count
  return head .. format("%010d", n) .. tail
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
