--- @include "lib/view"
--[[
  scan-lanes: returns lanes with a record (lane.lua) whose host is in a domain, in no order; one call reads about five
  thousand lanes.
  ARGV    ARGS['scan-lanes'] in calls.ts. `cursor` is that of HSCAN; `name` a host. The first `skip` lanes found with
          this cursor are left out, and at most `limit` are shown.
  Returns cursor and skip of the next call, '0' and '0' at the end; the number of steps (about a thousand lanes each)
          taken; then per lane its own cursor and skip, joined by '_', and the lane and its origin (lib/view.lua)
]]
local STEPS = 5
local cursor, skip, name, most = ARGV[ARG.cursor], tonumber(ARGV[ARG.skip]), ARGV[ARG.name], tonumber(ARGV[ARG.limit])
-- MATCH leaves out most lanes, faster than a script could; the script checks the names of the remaining lanes exactly.
local pattern = '*' .. string.gsub(name, '[%[%]%*%?\\]', '\\%0') .. '*'
local found, places, steps = {}, {}, 0
repeat
  local page = call('HSCAN', LANES, cursor, 'MATCH', pattern, 'COUNT', 1000)
  local seen, isCut = 0, false
  steps = steps + 1
  for i = 1, #page[2], 2 do
    local lane = page[2][i]
    if isBelow(originOf(lane), name) then
      seen = seen + 1
      isCut = #found == most and seen > skip
      if isCut then skip = seen - 1 break end
      if seen > skip then
        found[#found + 1], places[#places + 1] = lane, cursor .. '_' .. (seen - 1)
        keepRecord(lane, page[2][i + 1])
      end
    end
  end
  if not isCut then cursor, skip = page[1], 0 end
until isCut or cursor == '0' or #found == most or steps == STEPS
out[#out + 1], out[#out + 2], out[#out + 3] = cursor, tostring(skip), tostring(steps)
readLeases(found)
for i = 1, #found do
  out[#out + 1] = places[i]
  showLane(found[i])
  showOrigin(originOf(found[i]))
end
return out
