--- @include "lib/secondary"
--[[
  claim: reserves one lane for a robots fetch that no URL of the lane needs: an order follows, as after reserve.
  ARGV    ARGS.claim in calls.ts. A lane that is due within aheadMs is reserved. A reservation that is not started ends
          after reserveMs.
          paceLane: the pace lane that the robots fetch will also need, or ''; list: a list of the crawl whose permit
          waits for the robots fetch, or ''
  Returns 'claimed', fence, the instant at which the lane is due, version of the rules; or 'wait', ms, gate; or
          'blocked'; or 'crawl-held' and the record of the crawl, which is paused or over
  Keeps   a lane is due or has a lease, never both. Nothing is claimed while a robots fetch of the origin is in flight,
          nor while the pace lane is closed: the order that follows could not be started.
]]
local LEAST_WAIT_MS = 50 -- least time until a refused claim is tried again: the end of another lease wakes no claim
local lane, paceLane, ahead = ARGV[ARG.lane], ARGV[ARG.paceLane], tonumber(ARGV[ARG.aheadMs])
local lanes = { lane, paceLane ~= '' and paceLane or nil }
readLeases(lanes)
readForSecondary(lanes)
local o = factsOf(lane)
local function wait(till, gate) return reply('wait', ms(math.max(LEAST_WAIT_MS, till - now)), gate) end

-- When a lane is free for a robots fetch, and which gate holds the lane until then.
local function freeAt(one)
  local lease = leaseOf(one)
  if --[[rule:a-claimed-lane-has-no-lease]] lease --[[end]] then
    return now + math.max(lease[LEASE.delayMs], LEAST_WAIT_MS), GATE.laneBusy
  end
  local kept = tonumber(memoryOf(one)[MEMORY.ownDue])
  return opensAt(one, kept or dueOf(one) or 0), GATE.delay
end
local gate, till = GATES.permitRobotsReserve(lane, o, versionOf(o), '', '', ARGV[ARG.list])
if gate == GATE.blocked then return reply('blocked') end
if --[[rule:a-claim-for-a-held-crawl-is-answered-with-its-record]] gate == GATE.crawlHeld --[[end]] then
  return reply('crawl-held', crawlRecord(crawlOf(ARGV[ARG.list])))
end
if gate then return wait(till, gate) end
local due, why = freeAt(lane)
if why == GATE.laneBusy or --[[rule:claim-waits-until-due]] due > now + ahead --[[end]] then return wait(due, why) end
if paceLane ~= '' then
  local closed, opens = PACE_GATES[kindOfPaceLane(paceLane)](paceLane, factsOf(paceLane), '0', '', '', '')
  if not closed then
    local free, by = freeAt(paceLane)
    if by == GATE.laneBusy or free > now + ahead then closed, opens = GATE.paceGroup, free end
  end
  if --[[rule:claim-waits-for-the-pace-lane]] closed --[[end]] then return wait(opens, closed) end
end
local given, notBefore = nextFence(), math.max(due, now)
if memoryOf(lane)[MEMORY.ownDue] ~= '' then changeMemory(lane)[MEMORY.ownDue] = '' end
local lease = { LEASE.none }
lease[LEASE.fence], lease[LEASE.notBefore] = given, notBefore
lease[LEASE.list] = --[[rule:a-claim-is-for-the-crawl-that-it-names]] ARGV[ARG.list] --[[end]]
setLease(lane, lease)
indexLease(lane, ms(now + tonumber(ARGV[ARG.reserveMs])))
flush()
call('ZREM', DUE, lane)
call('HSET', KEYS[1], EPOCH.fence, given)
return reply('claimed', given, ms(notBefore), versionOf(o))
