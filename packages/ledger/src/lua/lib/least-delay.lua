--- @include "lib/site-policy"
--[[
  least-delay: the least delay of each agent, as the fleet's configuration has it. It is owed whatever the caller believes, and once
  it has been raised it also holds for a delay that began before. {tag}:epoch keeps it as LEAST_DELAY in layout.ts.
]]
local leastDelays -- agent → least delay; the least one that may still run from before it was raised; and when that was
local longestLeast, raisesEnd = 0, 0 -- the longest of them, and when none counts any more as raised
local function leastDelayOf(agent)
  if not leastDelays then
    leastDelays = {}
    for name, least, from, raisedAt in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
      leastDelays[name] = { least = tonumber(least), from = tonumber(from), raisedAt = tonumber(raisedAt) }
      longestLeast, raisesEnd = math.max(longestLeast, tonumber(least)), math.max(raisesEnd, raisedAt + least)
    end
  end
  return leastDelays[agent]
end

-- The least delay that a lane owes after a request of this kind; 0 when the configuration has none. A request of another lane of a pace
-- group owes the delay of the group. Where the caller has a delay that is at least as long anyway, it need not be known exactly.
local function leastOf(lane, kind, owed)
  if owed and leastDelays and owed >= longestLeast and not policiesText then return 0 end
  local known = leastDelaysText and --[[rule:a-pace-group-has-a-delay-of-its-own]] kind ~= KIND.paceGroup --[[end]] and leastDelayOf(agentOf(lane))
  local least = known and known.least or 0
  return policiesText and math.max(least, leastByPolicy(lane)) or least
end

-- When a lane opens whose delay may have begun before the least delay was raised: what it lacks is added. One new delay after the
-- raise nothing is lacking. `opens` may be later than the lane's own due time, and then the lane waits longer, once.
local function raisedByAgent(lane, opens)
  local known = leastDelaysText and leastDelayOf(agentOf(lane))
  if not known then return opens, 0 end
  local over = --[[rule:a-raise-holds-for-one-delay]] known.raisedAt + known.least --[[end]]
  return math.max(opens, math.min(opens + known.least - known.from, over)), over
end

-- The same after a change of the policies of its site. The earlier delay is not known any more, so the whole new delay counts from the change.
local function raisedByPolicy(lane, opens)
  local policy = policyOf(originOf(lane))
  if not policy.changedAt then return opens, 0 end
  local agent, owed = agentOf(lane), nil
  if policy.consent then owed = policy.delay
  else
    local known = tonumber(call('HGET', originKey(originOf(lane)), FIELD.delayOf .. agent) or '0')
    local least = leastDelaysText and leastDelayOf(agent)
    owed = math.max(policy.delay or 0, known, least and least.least or 0)
  end
  return math.max(opens, math.min(opens, policy.changedAt) + owed), policy.changedAt + owed
end

-- Whether a delay from before a raise may still run in a lane that is due at an instant.
local function mayBeRaised(opens)
  if policiesText then return true end
  if not leastDelaysText then return false end
  if not leastDelays then leastDelayOf('') end -- reads them
  return opens < raisesEnd
end

-- When a lane opens that is due at an instant, and when no delay from before a raise can run any more.
local function raised(lane, opens)
  if not mayBeRaised(opens) then return opens, 0 end
  local till, over = raisedByAgent(lane, opens)
  if not policiesText then return till, over end
  local tillByPolicy, overByPolicy = raisedByPolicy(lane, opens)
  return math.max(till, tillByPolicy), math.max(over, overByPolicy)
end
