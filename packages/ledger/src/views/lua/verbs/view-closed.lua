--- @include "lib/view"
--[[
  view-closed: returns origins that a gate holds, in the order in which the gate opens for them, each with its lanes.
  ARGV    ARGS['view-closed'] in calls.ts, then agents. The first `skip` origins are left out, at most `limit` (≤ 200)
          are read; `domain`: only the host of this name and hosts below it are shown, '' for all.
  Returns how many origins were read; then per origin shown its place among the origins read, its name, the origin,
          and a lane per agent (lib/view.lua)
]]
local domain = ARGV[ARG.domain]
local key, most = TAG .. KEY.closedIndex .. ARGV[ARG.gate], math.min(tonumber(ARGV[ARG.limit]), 200)
local found = call('ZRANGE', key, ms(now), '+inf', 'BYSCORE', 'LIMIT', ARGV[ARG.skip], most)
out[#out + 1] = tostring(#found)
for i = 1, #found do
  local origin = found[i]
  if domain == '' or isBelow(origin, domain) then
    out[#out + 1] = tostring(i)
    out[#out + 1] = origin
    showOrigin(origin)
    for k = ARG.items, #ARGV do showLane(ARGV[k] .. ' ' .. origin) end
  end
end
return out
