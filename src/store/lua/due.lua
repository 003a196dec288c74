-- KEYS: holds or due
-- ARGV: how many at most
-- Returns the members whose time has come.
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', number(now), 'LIMIT', 0, ARGV[1])
