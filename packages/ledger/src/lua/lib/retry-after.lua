--- @include "lib/epoch"
--[[
  retry-after: the wait, ms, that a site requests after an exchange by Retry-After: the longer of a length in ms and the
  time until a date on Redis's clock. Each of the two is '' when missing; if both are missing, the wait is 0.
]]
local function retryAfter(waitMs, waitAt, ended)
  local ahead = --[[rule:a-date-goes-by-the-clock-of-redis]] shift --[[end]]
  local untilDate = tonumber(waitAt) and tonumber(waitAt) + ahead - ended or 0
  return math.max(tonumber(waitMs) or 0, math.min(untilDate, RETRY_AFTER.longestMs))
end
