-- Records come with their times filled in, as their sender believes the server's clock to be: off by
-- the way of a message. One whose belief is further off is told the time, and sends again.
local STAMP_AHEAD_MAX, STAMP_BEHIND_MAX = 1000, 10000
