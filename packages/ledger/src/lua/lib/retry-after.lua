--- @include "lib/epoch"
--[[
  retry-after: the wait that a site asks for after an exchange, ms: the longer one of a length and a date; either is ''
  when missing, and without both it is 0. The date is an instant of Redis's clock.
]]
local function retryAfter(waitMs, waitAt, ended)
  local ahead = --[[rule:a-date-goes-by-the-clock-of-redis]] shift --[[end]]
  local untilDate = tonumber(waitAt) and tonumber(waitAt) + ahead - ended or 0
  return math.max(tonumber(waitMs) or 0, math.min(untilDate, RETRY_AFTER.longestMs))
end
