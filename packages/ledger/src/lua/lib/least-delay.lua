--- @include "lib/epoch"
--[[
  least-delay: the least delay of each agent, as the fleet's configuration has it. It is owed whatever the caller believes, and once
  it has been raised it also holds for a delay that began before. {tag}:epoch keeps it as LEAST_DELAY in layout.ts.
]]
local leastDelays -- agent → least delay; the least one that may still run from before it was raised; and when that was
local function leastDelayOf(agent)
  if not leastDelays then
    leastDelays = {}
    for name, least, from, raisedAt in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
      leastDelays[name] = { least = tonumber(least), from = tonumber(from), raisedAt = tonumber(raisedAt) }
    end
  end
  return leastDelays[agent]
end

-- The least delay that a lane owes after a request of this kind; 0 when the configuration has none. A request of another lane of a pace
-- group owes the delay of the group.
local function leastOf(lane, kind)
  local known = leastDelaysText and --[[rule:a-pace-group-has-a-delay-of-its-own]] kind ~= KIND.paceGroup --[[end]] and leastDelayOf(agentOf(lane))
  return known and known.least or 0
end

-- When a lane opens whose delay may have begun before the least delay was raised: what it lacks is added. One new delay after the
-- raise nothing is lacking. `opens` may be later than the lane's own due time, and then the lane waits longer, once.
local function raised(lane, opens)
  local known = leastDelaysText and leastDelayOf(agentOf(lane))
  if not known then return opens end
  local over = --[[rule:a-raise-holds-for-one-delay]] known.raisedAt + known.least --[[end]]
  return math.max(opens, math.min(opens + known.least - known.from, over))
end
