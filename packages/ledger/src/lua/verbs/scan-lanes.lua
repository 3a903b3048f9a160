--- @include "lib/view"
--[[
  scan-lanes: lanes with URLs whose host lies in a domain, in no order, from about a thousand lanes that are looked at.
  ARGV    ARGS['scan-lanes'] in calls.ts. `cursor` is that of HSCAN; `name` a host. Of the lanes found by this cursor the first `skip` are
          left out, and at most `limit` are shown.
  Returns cursor and skip of the next call, '0' and '0' at the end; then per lane the lane and its origin (lib/view.lua)
]]
local page = call('HSCAN', LANES, ARGV[ARG.cursor], 'COUNT', 1000)
local name, skip, most, found, seen = ARGV[ARG.name], tonumber(ARGV[ARG.skip]), tonumber(ARGV[ARG.limit]), {}, 0
for i = 1, #page[2], 2 do
  local lane = page[2][i]
  if isBelow(originOf(lane), name) then
    seen = seen + 1
    if seen > skip and #found < most then
      found[#found + 1] = lane
      keepRecord(lane, page[2][i + 1])
    end
  end
end
local isCut = seen > skip + #found
out[#out + 1] = isCut and ARGV[ARG.cursor] or page[1]
out[#out + 1] = isCut and tostring(skip + #found) or '0'
readLeases(found)
for i = 1, #found do
  showLane(found[i])
  showOrigin(originOf(found[i]))
end
return out
