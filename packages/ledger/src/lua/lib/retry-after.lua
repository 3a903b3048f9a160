--- @include "lib/epoch"
--[[
  retry-after: how long a site asks to wait from the end of an exchange on, ms: the longer of a length and of a date,
  '' where there is none; 0 for nothing. The date is one of Redis's clock.
]]
local function retryAfter(waitMs, waitAt, ended)
  local ahead = --[[rule:a-date-goes-by-the-clock-of-redis]] shift --[[end]]
  local untilDate = tonumber(waitAt) and tonumber(waitAt) + ahead - ended or 0
  return math.max(tonumber(waitMs) or 0, math.min(untilDate, RETRY_AFTER.longestMs))
end
