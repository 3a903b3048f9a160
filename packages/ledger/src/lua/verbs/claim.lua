--- @include "lib/secondary"
--[[
  claim: reserves one lane for a robots fetch that no URL of the lane asks for: an order follows, as after reserve.
  ARGV    ARGS.claim in calls.ts. A lane that is due within aheadMs is reserved. A reservation that is not started ends after reserveMs.
  Returns 'claimed', fence, the instant at which it is due, version; or 'wait', ms, gate
  Keeps   a lane is due or has a lease, never both. Nothing is claimed while a robots fetch of the origin is in flight.
]]
local lane, ahead = ARGV[ARG.lane], tonumber(ARGV[ARG.aheadMs])
readLeases({ lane })
readForSecondary({ lane })
local version, fetchFence, fetchUntil, backOffUntil, pausedUntil = unpack(call('HMGET', originKey(originOf(lane)), FIELD.version,
  FIELD.fetchFence, FIELD.fetchUntil, FIELD.backOffUntil, FIELD.pausedUntil))
local backOff, pause = tonumber(backOffUntil or '0'), tonumber(pausedUntil or '0')
local closedUntil = math.max(backOff, pause)
local kept = memoryOf(lane)[MEMORY.ownDue]
local ownDue = tonumber(kept) or dueOf(lane) or 0
local function wait(till, gate) return reply('wait', ms(math.max(1, till - now)), gate) end
if --[[rule:claim-minds-the-hold]] holdUntil > now --[[end]] then return wait(holdUntil, 'startup-hold') end
local held, heldBy = heldUntil(originOf(lane))
if --[[rule:claim-minds-a-stop]] held > now --[[end]] then return wait(held, heldBy) end
if --[[rule:claim-minds-the-back-off]] closedUntil > now --[[end]] then
  return wait(closedUntil, pause >= backOff and GATE.paused or GATE.backOff)
end
if --[[rule:claim-waits-for-a-robots-fetch]] fetchFence and tonumber(fetchUntil) > now --[[end]] then
  return wait(tonumber(fetchUntil), GATE.robotsInFlight)
end
if --[[rule:a-claimed-lane-has-no-lease]] leaseOf(lane) --[[end]] then return wait(now, GATE.laneBusy) end
if --[[rule:claim-waits-until-due]] ownDue > now + ahead --[[end]] then return wait(ownDue, 'delay') end
local given, notBefore = nextFence(), math.max(ownDue, now)
if kept ~= '' then changeMemory(lane)[MEMORY.ownDue] = '' end
local lease = { LEASE.none }
lease[LEASE.fence], lease[LEASE.list], lease[LEASE.notBefore] = given, LIST.normal, notBefore
setLease(lane, lease)
flush()
call('ZREM', DUE, lane)
call('ZADD', INFLIGHT, ms(now + tonumber(ARGV[ARG.reserveMs])), lane)
call('HSET', KEYS[1], EPOCH.fence, given)
return reply('claimed', given, ms(notBefore), version or '0')
