--- @include "lib/view"
--[[
  view-lanes: returns lanes by due time or by the check of their lease, each with its origin.
  ARGV    ARGS['view-lanes'] in calls.ts. order is soonest or latest (lanes without a lease, by due time) or in-flight
          (lanes with a lease, by the instant at which reap checks it); the first `skip` in that order are left out, and
          at most `limit` (≤ 200) are shown.
  Returns per lane the lane and its origin (lib/view.lua)
]]
local order, first = ARGV[ARG.order], tonumber(ARGV[ARG.skip])
local last = first + math.min(tonumber(ARGV[ARG.limit]), 200) - 1
local found
if order == 'in-flight' then found = call('ZRANGE', INFLIGHT, first, last)
elseif order == 'latest' then found = call('ZRANGE', DUE, first, last, 'REV')
else found = call('ZRANGE', DUE, first, last) end
readLanes(found)
readLeases(found)
for i = 1, #found do
  showLane(found[i])
  showOrigin(originOf(found[i]))
end
return out
