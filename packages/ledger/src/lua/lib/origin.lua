--- @include "lib/epoch"
--- @include "lib/site-policy"
--[[
  origin: the gates of an origin, which are its rules, the robots fetch in flight, back-off, pause, block, a delay set by an operator,
  and failures in a row. reserve reads them all. start reads again only the gates of origins that changed since, which `changed`
  says. New rules need no note of their own: the robots fetch that brings them is one, and a lane that was reserved while it was in
  flight does not rely on its lease.
]]
local CHANGES_KEPT_MS = 60000 -- a reservation older than this does not rely on its lease either
local DAY_MS = 86400000

local function markChanged(origin)
  call('ZADD', TAG .. KEY.changed, call('HGET', KEYS[1], EPOCH.fence) or '0', origin)
  --[[rule:a-change-closes-the-short-cut]] call('HDEL', originKey(origin), FIELD.allOpen) --[[end]]
end

local function isAhead(instant) return instant and tonumber(instant) > now end

-- The robots state of an origin, '' once it has ended. It ends with the bodies that its rules are in (record.lua), also where an
-- operation keeps the hash for longer: an ETag without its body would ask for a 304 that brings nothing.
local function stateOf(state, ends)
  if not state or (ends and tonumber(ends) <= now) then return '' end
  return state
end

-- A robots fetch of an origin is in flight from here on: an order for its rules, or a page or a hop whose URL is a robots.txt. No
-- other one starts before lease + quarantine are over, because a frozen fetcher may still send its request.
local function startRobotsFetch(origin, fence, leaseMs)
  local key = originKey(origin)
  local ends = now + --[[rule:a-robots-fetch-outlasts-its-lease]] math.max(tonumber(ARGV[ARG.holdMs]), leaseMs) --[[end]]
  call('HSET', key, FIELD.fetchFence, fence, FIELD.fetchUntil, ms(ends))
  markChanged(origin)
  -- An origin of which nothing else is known ends by itself, but not before that; record.lua sets the real life.
  local life = math.ceil(ends - now) + DAY_MS
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
