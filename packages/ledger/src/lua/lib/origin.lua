--- @include "lib/gates"
--[[
  origin: what verbs write of an origin beside its gates: the robots state, and the robots fetch in flight.
]]
-- The robots state of an origin, '' once it has ended. It ends with the bodies that its rules are in (record.lua), also
-- where an operation keeps the hash for longer: an ETag without its body would ask for a 304 that brings nothing.
local function stateOf(state, ends)
  if not state or (ends and tonumber(ends) <= now) then return '' end
  return state
end

-- A robots fetch of an origin is in flight from here on: an order for its rules, or a page or a hop whose URL is a
-- robots.txt. No other one starts before lease + quarantine are over: a frozen fetcher may still send its request.
local function startRobotsFetch(origin, fence, leaseMs)
  local key = originKey(origin)
  local holdMs = tonumber(ARGV[ARG.holdMs])
  local ends = now + --[[rule:a-robots-fetch-outlasts-its-lease]] math.max(holdMs, leaseMs) --[[end]]
  call('HSET', key, FIELD.fetchFence, fence, FIELD.fetchUntil, ms(ends))
  markChanged(origin)
  -- An origin of which nothing else is known ends with its key, but not before that; record.lua sets the real life.
  local life = math.ceil(ends - now) + DAY_MS
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
