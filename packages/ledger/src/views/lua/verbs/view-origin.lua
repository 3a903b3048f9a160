--- @include "lib/view"
--[[
  view-origin: one origin, and its lane of each agent.
  ARGV    ARGS['view-origin'] in calls.ts, then agents
  Returns the origin, then per agent a lane (lib/view.lua)
]]
showOrigin(ARGV[ARG.origin])
for i = ARG.items, #ARGV do showLane(ARGV[i] .. ' ' .. ARGV[ARG.origin]) end
return out
