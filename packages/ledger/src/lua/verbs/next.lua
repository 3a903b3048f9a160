--- @include "lib/held"
--- @include "lib/origin"
--[[
  next: grants one more request under leases that the caller already holds: a further request under the order of a pool,
  or a hop of a robots.txt in a lane that the robots fetch holds. The call implies that the previous request has ended.
  ARGV    ARGS.next in calls.ts, then CONFIRM_ITEM for each lane of the holder.
          lane: of the request; a lane that the caller does not hold is leased by a separate call
          kind: KIND.page for a further request, KIND.hop for a hop;  elapsedMs: since the end of the previous request
          delayMs: the delay that the previous request owes, as its sender reports it;  isRobots: '1' for a hop that is
          the robots fetch of its origin;  turn, endedAt: from the answer 'turn' to an earlier call for the same
          request, '' in the first call for a request
  Returns 'granted', ms until the request may be sent, '', turn, endedAt; or 'turn' and the same values if the wait is
          longer than SOON_MS: the caller repeats the call after the wait, because during the wait a gate may close or a
          delay may become longer; 'wait', ms, gate; 'busy' if another request was granted that has not been sent yet;
          'stale'; 'blocked', 'rules-changed', 'refetch'
  Keeps   the request waits for every gate of every held lane, and for the longest delay that any of these lanes owes. A
          request is counted when it is granted.
]]
local SOON_MS = 500
if inDoubt then return inDoubt end
if not areHeld(LIFE.next) then return reply('stale') end
local isHop, lane = ARGV[ARG.kind] == KIND.hop, heldLanes[1]
local own = leaseOf(lane)
local origin, fence, list = originOf(lane), own[LEASE.fence], own[LEASE.list]
local function exactly(instant) return string.format('%.17g', instant) end
local requestAt, turn = own[LEASE.requestAt], ARGV[ARG.turn]
local isTurn = turn ~= ''
local isAnother = isTurn and exactly(requestAt) ~= turn or not isTurn and requestAt > now
if --[[rule:one-request-at-a-time-under-a-lease]] isAnother --[[end]] then return reply('busy') end

local function closedBy(n)
  local one = heldLanes[n]
  local o, kind = factsOf(one), leaseOf(one)[LEASE.kind]
  if one ~= ARGV[ARG.lane] and kind == KIND.host then return GATES.hostGrant(one, o, '0', '', '', '') end
  if kind == KIND.paceGroup then return GATES.groupGrant(one, o, '0', '', '', '') end
  if isHop then return GATES.heldHopGrant(one, o, versionOf(o), judgedBy(n), fence, '') end
  return GATES.furtherGrant(one, o, versionOf(o), judgedBy(n), fence, list)
end
local closed, till
for n = 1, #heldLanes do
  local gate, opens = closedBy(n)
  if gate == GATE.blocked then return reply(gate) end
  if gate and (not closed or opens > till) then closed, till = gate, opens end
end
if closed == GATE.rulesChanged or closed == GATE.refetch then return reply(closed) end
if closed then return reply('wait', ms(math.max(1, till - now)), closed) end

-- The previous request used all held lanes, so it was sent at the latest of the send times in their leases.
local sent = 0
for n = 1, #heldLanes do
  local lease = leaseOf(heldLanes[n])
  local sentIn = latestSentAt(lease[LEASE.startedAt], lease[LEASE.requestAt])
  sent = --[[rule:a-further-request-counts-from-the-latest-lane]] math.max(sent, sentIn) --[[end]]
end
local ended = isTurn and tonumber(ARGV[ARG.endedAt]) or endedAt(ARGV[ARG.elapsedMs], sent)
local reported, opens = tonumber(ARGV[ARG.delayMs]), now
for n = 1, #heldLanes do
  local one, lease = heldLanes[n], leaseOf(heldLanes[n])
  local owed = owedAfter(one, lease[LEASE.kind], lease[LEASE.fence], lease[LEASE.of],
    math.max(reported, lease[LEASE.delayMs]), lease[LEASE.leastDelayMs])
  opens = math.max(opens, --[[rule:a-further-request-waits-for-every-lane]] ended + owed --[[end]])
end
-- While the new request waits to be sent, `startedAt` keeps the send time of the previous request.
if not isTurn then
  local startedAt = own[LEASE.startedAt]
  own[LEASE.startedAt] = --[[rule:the-request-before-stays-known]] latestSentAt(startedAt, requestAt) --[[end]]
end
own[LEASE.requestAt] = opens
setLease(lane, own)
local function answer(kind)
  flush()
  return reply(kind, ms(opens - now), '', exactly(opens), exactly(ended))
end
if --[[rule:a-request-is-looked-at-when-its-turn-comes]] opens > now + SOON_MS --[[end]] then return answer('turn') end
local isOwnHeld = lane == ARGV[ARG.lane] -- if not, the request is counted when its lane is leased
if isOwnHeld then countRequest(origin) end
local fetchFence = factsOf(lane)[FACTS.fetchFence]
if ARGV[ARG.isRobots] == '1' and isOwnHeld and fetchFence ~= fence then
  startRobotsFetch(origin, fence, tonumber(ARGV[ARG.longestLeaseMs]))
end
return answer('granted')
