--- @include "lib/guard"
--[[
  drop-lane: takes a lane out of its old partition in one step, after all of it is in the new one.

  KEYS     as guard
  ARGV     lane;  urls: how many URLs it had; then per crawl that is not the default one its name and how many of
           the URLs were its own
  Keeps    a lane that is not there any more changes no count.
]]
local lane = ARGV[ARG.lane]
if --[[rule:a-lane-that-left-is-counted-once]] call('ZREM', TAG .. KEY.due, lane) == 0 --[[end]] then return end
call('UNLINK', TAG .. KEY.normal .. lane, TAG .. KEY.high .. lane, TAG .. KEY.turns .. lane)
call('HDEL', TAG .. KEY.lanes, lane)
-- Not `-n`: Redis takes '-0', which Lua makes of 0, for no number.
call('HINCRBY', TAG .. KEY.counts, 'parked', 0 - ARGV[ARG.urls])
for i = ARG.items, #ARGV, 2 do
  local crawl = ARGV[i]
  call('UNLINK', TAG .. LIST.normal .. '@' .. crawl .. ':' .. lane, TAG .. LIST.high .. '@' .. crawl .. ':' .. lane)
  call('SREM', TAG .. KEY.lanesOf .. crawl, lane)
  call('HINCRBY', TAG .. KEY.crawl .. crawl, CRAWL.storedEver, 0 - ARGV[i + 1])
end
