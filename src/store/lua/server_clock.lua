-- The time in milliseconds, by the server's clock: leases and retention follow it alone.
local time = redis.call('TIME')
local server_now = time[1] * 1000 + math.floor(time[2] / 1000)
local now = server_now
