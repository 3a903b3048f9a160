--- @include "lib/view"
--[[
  view-origin: returns one origin, and the origin's lane of each agent.
  ARGV    ARGS['view-origin'] in calls.ts, then agents
  Returns the origin, then per agent a lane (lib/view.lua)
]]
showOrigin(ARGV[ARG.origin])
for i = ARG.items, #ARGV do showLane(ARGV[i] .. ' ' .. ARGV[ARG.origin]) end
return out
