--- @include "lib/gates"
--[[
  origin: two facts about an origin beside its gates: the robots state, and the robots fetch in flight.
]]
-- The robots state of an origin, '' once the state has ended. The state ends with the stored bodies of its rules
-- (record.lua), even if an operation keeps the hash of the origin longer. Otherwise the next robots fetch would send
-- the ETag of a lost body, and a 304 would bring no rules. ends: FIELD.robotsStateEnds, nil or false for none
local function stateOf(state, ends)
  if not state or (ends and tonumber(ends) <= now) then return '' end
  return state
end

-- Records that a robots fetch of an origin is in flight from now: an order for its rules, or a page or a hop whose URL
-- is a robots.txt. Until the end of this fetch is recorded, no other robots fetch of the origin starts within the
-- longest lease + quarantine: a frozen fetcher may still send its request.
local function startRobotsFetch(origin, fence, leaseMs)
  local key = originKey(origin)
  local holdMs = tonumber(ARGV[ARG.holdMs])
  local ends = now + --[[rule:a-robots-fetch-outlasts-its-lease]] math.max(holdMs, leaseMs) --[[end]]
  call('HSET', key, FIELD.fetchFence, fence, FIELD.fetchUntil, ms(ends))
  markChanged(origin)
  -- The key of an origin without other facts must outlast the fetch. At its end record.lua sets the full life.
  local life = math.ceil(ends - now) + DAY_MS
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
