--- @include "lib/gates"
--[[
  origin: writes facts about an origin other than its gates: the robots state, and the robots fetch in flight.
]]
-- The robots state of an origin, '' once it has ended. It ends with the bodies of its rules (record.lua), even if an
-- operation keeps the hash longer: the ETag of a lost body would bring a 304, without any rules.
local function stateOf(state, ends)
  if not state or (ends and tonumber(ends) <= now) then return '' end
  return state
end

-- Records that a robots fetch of an origin is in flight from now: an order for its rules, or a page or a hop whose URL
-- is a robots.txt. No other one starts before lease + quarantine are over: a frozen fetcher may still send its request.
local function startRobotsFetch(origin, fence, leaseMs)
  local key = originKey(origin)
  local holdMs = tonumber(ARGV[ARG.holdMs])
  local ends = now + --[[rule:a-robots-fetch-outlasts-its-lease]] math.max(holdMs, leaseMs) --[[end]]
  call('HSET', key, FIELD.fetchFence, fence, FIELD.fetchUntil, ms(ends))
  markChanged(origin)
  -- The key of an origin without other facts must outlast the fetch; record.lua sets its full life.
  local life = math.ceil(ends - now) + DAY_MS
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
