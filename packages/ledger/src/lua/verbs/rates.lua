--- @include "lib/owed"
--- @include "lib/record"
--- @include "lib/waking"
--[[
  rates: sets the least delays of agents and the policies of sites, both from one version of the fleet's configuration.
  ARGV    ARGS.rates in calls.ts: number of agents; then per agent LEAST_DELAY_ITEM, and per site POLICY_ITEM
  Returns 'written', 'kept' or 'overtaken'; and the version in force
  Keeps   an agent that is not named keeps its least delay, because its requests may still be in flight. An unchanged
          policy keeps the instant of its last change, and a dropped policy is remembered for a day: if the change makes
          a delay longer, delays that are already running become longer, too (owed.lua). A fleet that has never had a
          policy stores nothing about policies.
]]
if --[[rule:rates-wait-for-the-clock]] inDoubt --[[end]] then return inDoubt end
local version, known = ARGV[ARG.version], versionIn(leastDelaysText)
local firstSite = ARG.items + ARGV[ARG.agents] * LEAST_DELAY_ITEM.size

local function writeLeastDelays()
  local text, named = { version }, {}
  for i = ARG.items, firstSite - 1, LEAST_DELAY_ITEM.size do
    named[ARGV[i + LEAST_DELAY_ITEM.agent]] = tonumber(ARGV[i + LEAST_DELAY_ITEM.delayMs])
  end
  local function write(agent, before, least)
    local stays = --[[rule:a-least-delay-that-stays-was-raised-before]] before and before.least == least --[[end]]
    -- 0 for a new agent: it has made no request, so no delay of its lanes can be running.
    local changedAt = not before and 0 or stays and before.changedAt or now
    text[#text + 1] = string.format(LEAST_DELAY.format, agent, least, ms(changedAt))
  end
  for agent in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
    local before = leastDelays[agent]
    local least = named[agent] or --[[rule:an-agent-that-is-not-named-keeps-its-own]] before.least --[[end]]
    if least then write(agent, before, least) end
  end
  for i = ARG.items, firstSite - 1, LEAST_DELAY_ITEM.size do
    local agent = ARGV[i + LEAST_DELAY_ITEM.agent]
    if not leastDelays[agent] then write(agent, nil, named[agent]) end
  end
  leastDelaysText = table.concat(text)
  call('HSET', KEYS[1], EPOCH.leastDelays, leastDelaysText)
end

local function writePolicies()
  if not policiesText and firstSite > #ARGV then return end
  local key, nowText = TAG .. KEY.policies, ms(now)
  local before, fields, named, count = {}, {}, {}, 0
  local stored = call('HGETALL', key)
  for i = 1, #stored, 2 do before[stored[i]] = stored[i + 1] end
  for i = firstSite, #ARGV, POLICY_ITEM.size do
    local site, policy = ARGV[i + POLICY_ITEM.site], ARGV[i + POLICY_ITEM.policy]
    local changedAt, text = string.match(before[site] or '', '^(%S+) (.*)$')
    local since = --[[rule:a-policy-that-stays-keeps-its-change]] text == policy and changedAt --[[end]] or nowText
    fields[#fields + 1], fields[#fields + 2] = site, since .. ' ' .. policy
    named[site], count = true, count + 1
  end
  for site, value in pairs(before) do
    local changedAt, text = string.match(value, '^(%S+) (.*)$')
    local isGone = text == POLICY.dropped
    local isOver = isGone and tonumber(changedAt) + DAY_MS <= now
    if --[[rule:a-policy-that-is-dropped-is-remembered]] not named[site] --[[end]] and not isOver then
      fields[#fields + 1], fields[#fields + 2] = site, isGone and value or nowText .. ' ' .. POLICY.dropped
    end
  end
  call('DEL', key)
  for i = 1, #fields, 2000 do call('HSET', key, unpack(fields, i, math.min(i + 1999, #fields))) end
  call('HSET', KEYS[1], EPOCH.policies, string.format('%s %d %s', version, count, ms(now + DAY_MS)))
  wakeHeld()
end

local kind = judgeRecord(known)
if kind == 'written' then
  writeLeastDelays()
  writePolicies()
  known = version
end
return reply(kind, known)
