--- @include "lib/owed"
--[[
  least-delays: sets the least delay of agents.
  ARGV    ARGS['least-delays'] in calls.ts, then per agent LEAST_DELAY_ITEM. version is that of the fleet's configuration.
  Returns the version in force
  Keeps   a version before the one in force changes nothing. An agent that is not named keeps what it has: another gateway
          knows it, or requests of it may still be under way.
]]
if --[[rule:least-delays-wait-for-the-clock]] inDoubt --[[end]] then return inDoubt end
local version = ARGV[ARG.version]
local known = leastDelaysText and string.match(leastDelaysText, '^%d+') or '0'
if --[[rule:an-older-configuration-changes-nothing]] tonumber(version) < tonumber(known) --[[end]] then return reply(known) end
local text, given = { version }, {}
for i = ARG.items, #ARGV, LEAST_DELAY_ITEM.size do
  given[ARGV[i + LEAST_DELAY_ITEM.agent]] = tonumber(ARGV[i + LEAST_DELAY_ITEM.delayMs])
end
local function write(agent, before, least)
  local changedAt = --[[rule:a-least-delay-that-stays-was-raised-before]] before and before.least == least --[[end]] and before.changedAt or now
  text[#text + 1] = string.format(LEAST_DELAY.format, agent, least, ms(changedAt))
end
for agent in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
  local before = leastDelayOf(agent)
  local least = given[agent] or --[[rule:an-agent-that-is-not-named-keeps-its-own]] before.least --[[end]]
  if least then write(agent, before, least) end
end
for i = ARG.items, #ARGV, LEAST_DELAY_ITEM.size do
  local agent = ARGV[i + LEAST_DELAY_ITEM.agent]
  if not leastDelayOf(agent) then write(agent, nil, given[agent]) end
end
local stored = table.concat(text)
if stored ~= leastDelaysText then call('HSET', KEYS[1], EPOCH.leastDelays, stored) end -- gateways say it again each second
return reply(version)
