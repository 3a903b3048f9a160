--- @include "gates/policies"
--[[
  gates: whether a request may be made now, and if not, which gate holds it and until when. Only this part reads a
  gate's fields: the loader refuses a script that reads them anywhere else. The table in packages/protocol/src/gates.ts
  says which gates count for which request at which moment; the functions at the end of this part are made from it when
  the scripts are loaded:

    GATES.pageGrant(lane, o, version, judged, fence, list)   named after the request (page) and the moment (grant);
                                                             returns nil if every gate is open, else the closed gate,
                                                             and until when it is closed
      o        the result of `factsOf`; nil when every gate of the origin is known to be open
      version  of the rules in force;  judged: version of the rules that judged the request, '' when none did
      fence    of the lease under which the request is, or will be, made, '' for none
      list     of the URL; '' for a request of no crawl
    GATES.pageReserveEach(…)   an array of all closed gates: gate, until when, gate, until when, …

  Each line with @reader below reads one gate. It has the gate, the condition under which the gate can be closed at all,
  and the instant at which the gate opens (0: it is open). For a gate that does not wait (`again` in the table) the line
  has no instant: its value is true when the gate is closed. The back-off and the pauses of a host are in the record of
  the host's `https:` origin, because the lane of that origin is also the lane of the host.
]]
--- @reader startup-hold = holdUntil
--- @reader stopped when stopsText = stoppedUntil(originOf(lane))
--- @reader paused when o = math.max(tonumber(o[FACTS.pausedUntil] or 0), tonumber(o[FACTS.hostPausedUntil] or 0))
--- @reader back-off when o = tonumber(o[FACTS.backOffUntil] or 0)
--- @reader visiting-hours when policiesText = hoursBegin(originOf(lane))
--- @reader budget when policiesText = budgetUntil(originOf(lane))
--- @reader crawl-held when hasCrawls and list ~= '' = crawlHeldUntil(list)
--- @reader robots-in-flight when o and (o[FACTS.fetchFence] or fence) ~= fence = tonumber(o[FACTS.fetchUntil])
--- @reader blocked when o = tonumber(o[FACTS.blockedUntil] or 0)
--- @reader rules-changed = judged ~= '' and judged ~= version
--- @reader refetch when o = o[FACTS.refetchVersion] == version

local CHANGES_KEPT_MS = 60000 -- how long {tag}:changed keeps a change; for older fences, any change is possible

-- The facts about the origin of a lane (FACTS in layout.ts), read once in each call of the script.
local facts = {}
local function factsOf(lane)
  local known = facts[lane]
  if not known then
    known = call('HMGET', originKey(originOf(lane)), FACTS.fields, FIELD.delayOf .. agentOf(lane))
    facts[lane] = known
  end
  return known
end
local function versionOf(o) return o[FACTS.version] or '0' end

-- Returns four facts: '1' if every gate of a lane's origin is known to be open, the lane's recorded delay, and state
-- and version of the origin's robots.txt; false for a missing one. Reading each gate costs three times as much.
local function whetherOpen(lane)
  local blank = string.find(lane, ' ', 1, true)
  local key, agent = originKey(string.sub(lane, blank + 1)), string.sub(lane, 1, blank - 1)
  return unpack(call('HMGET', key, FIELD.allOpen, FIELD.delayOf .. agent, FIELD.robotsState, FIELD.version))
end

-- The code down to `hasChanged` finds whether a gate or a delay of an origin may have changed since a fence was handed
-- out. Fences are whole numbers as text, and are compared as text: converting them to numbers costs more.
local OLDEST, LATEST = string.format('%d', (now - CHANGES_KEPT_MS) * 1000), '99999999999999999999'
local changes = {} -- origin → newest fence before the last change of its gates or delays; false for no change
local changesOf = {} -- lanes whose origins' changes are read with one command, when the first such change is needed
local latestChange -- newest fence before the last change of any origin, at least OLDEST; nil if not yet read
local function readChanges(lanes)
  if #lanes == 0 then return end
  local origins = {}
  for i = 1, #lanes do origins[i] = originOf(lanes[i]) end
  local found = call('ZMSCORE', TAG .. KEY.changed, unpack(origins))
  for i = 1, #origins do changes[origins[i]] = found[i] end
end
local function isAfter(one, other) return #one > #other or (#one == #other and one > other) end
-- Whether no gate and no delay of any origin has changed since a fence was handed out.
local function isUnchanged(fence)
  if not latestChange then
    latestChange = call('ZRANGE', TAG .. KEY.changed, 0, 0, 'REV', 'WITHSCORES')[2] or OLDEST
    if isAfter(OLDEST, latestChange) then latestChange = OLDEST end
  end
  return --[[rule:what-changed-last-may-be-this-origin]] isAfter(fence, latestChange) --[[end]]
end
local function hasChanged(lane, fence)
  if isUnchanged(fence) then return false end
  if not isAfter(fence, OLDEST) then return true end
  local origin = originOf(lane)
  if changes[origin] == nil then
    readChanges(changesOf)
    changesOf = {}
  end
  if changes[origin] == nil then readChanges({ lane }) end
  local changed = changes[origin]
  return --[[rule:a-change-since-the-reservation-counts]] changed and not isAfter(fence, changed) --[[end]]
end

-- Records that a gate or a delay of an origin has changed; to be called after each such write.
local function markChanged(origin)
  call('ZADD', TAG .. KEY.changed, call('HGET', KEYS[1], EPOCH.fence) or '0', origin)
  --[[rule:a-change-closes-the-short-cut]] call('HDEL', originKey(origin), FIELD.allOpen) --[[end]]
  --[[rule:one-call-sees-its-own-changes]] changes[origin], latestChange, facts = LATEST, LATEST, {} --[[end]]
end

-- Removes an origin's pauses, blocks and delays by operators that have expired. If no gate of the origin is closed
-- then, sets FIELD.allOpen, so that reserve need not read each gate.
local function settleGates(origin)
  local key, o = originKey(origin), factsOf(' ' .. origin)
  local function forget(instant, ...)
    if not instant or tonumber(instant) > now then return instant end
    call('HDEL', key, ...)
  end
  local pausedUntil = forget(o[FACTS.pausedUntil], FIELD.pausedUntil, FIELD.pauseReason)
  local hostPausedUntil = forget(o[FACTS.hostPausedUntil], FIELD.hostPausedUntil)
  local blockedUntil = forget(o[FACTS.blockedUntil], FIELD.blockedUntil, FIELD.blockReason)
  local overrideUntil = forget(o[FACTS.overrideUntil], FIELD.overrideDelay, FIELD.overrideUntil, FIELD.overrideReason)
  local isClosed = --[[rule:open-gates-are-all-open]] o[FACTS.backOffUntil] or o[FACTS.failures] or pausedUntil
    or hostPausedUntil or blockedUntil or overrideUntil or o[FACTS.stateEnds] --[[end]]
  if not (isClosed or o[FACTS.refetchVersion] == versionOf(o)) then call('HSET', key, FIELD.allOpen, '1') end
end

-- The fence of the robots fetch that is in flight for an origin; nil when none is in flight.
local function robotsFetchOf(origin) return call('HGET', originKey(origin), FIELD.fetchFence) or nil end

local crawlsHeld = {} -- crawl → '1' if the crawl is held; nil if not yet read
local function isCrawlHeld(crawl)
  if crawlsHeld[crawl] == nil then crawlsHeld[crawl] = call('HGET', crawlKey(crawl), CRAWL.held) end
  return crawlsHeld[crawl] == '1'
end
local function crawlRecord(crawl) return call('HGET', crawlKey(crawl), CRAWL.record) or '' end
local crawlChecks = {} -- list → until when reserve holds the crawl of that list, 0 if the crawl is not held
local function crawlHeldUntil(list)
  local CHECK_MS = 500 -- a held crawl is checked again after this time, unless reserve has chosen an instant
  return crawlChecks[list] or isCrawlHeld(crawlOf(list)) and now + CHECK_MS or 0
end

local function isAhead(instant) return instant and tonumber(instant) > now end
--- @gates
