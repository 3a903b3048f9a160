--- @include "lib/secondary"
--[[
  start: turns reservations into leases, right before the first byte is sent. From then on the delay is owed.
  ARGV    ARGS.start in calls.ts, then per order START_ITEM. The kind is page, robots, or robots-page (a page whose URL
          is a robots.txt). paceLane is the pace lane that the request also needs, or ''.
  Returns per order START_ANSWER, its parts joined by '|':
          granted: the request may be sent after waitMs; with fence and delay of the pace lane's lease
          early: try again after waitMs; the reservation stays
          stale: the lease is not the caller's
          or the name of the gate that is closed; `delay` if the delay has become longer since the reservation
  Keeps   after a refusal with a gate's name, the lane of the order is released. At most one robots fetch of an origin
          is in flight. A lane and its pace lane are started together or not at all. A lane that is due within aheadMs
          is granted: the caller waits until the lane is due.
]]
local leaseMs, ahead = tonumber(ARGV[ARG.leaseMs]), tonumber(ARGV[ARG.aheadMs])
-- A lease never ends before its reservation would have ended: its entry in `inflight` stays, so reap checks the lease
-- when the reservation would end, and a second time when the lease ends.
local lanes, paceLanes, allLanes = {}, {}, {}
for i = ARG.items, #ARGV, START_ITEM.size do
  local n, lane, paceLane = #lanes + 1, ARGV[i + START_ITEM.lane], ARGV[i + START_ITEM.paceLane]
  lanes[n], allLanes[#allLanes + 1] = lane, lane
  if paceLane ~= '' then paceLanes[#paceLanes + 1], allLanes[#allLanes + 1] = paceLane, paceLane end
end
readLeases(allLanes)
readForSecondary(paceLanes)
changesOf = lanes
if lostAt > 0 then readEnded(allLanes) end

local request = { lanes = {}, leaseMs = leaseMs, ahead = ahead } -- reused for the pace lane of each order

-- Releases the lane of a refused order. A gate that opens at a known time holds the lane until then; after any other
-- refusal the lane is due at its own time.
local function refuse(lane, opens, gate, till)
  endLease(lane)
  local isJudgedAgain = gate == GATE.blocked or gate == GATE.rulesChanged or gate == GATE.refetch
    or gate == GATE.crawlHeld
  if --[[rule:a-lane-that-is-judged-again-is-due]] isJudgedAgain --[[end]] then makeDue(lane, opens)
  else makeDue(lane, opens, till, gate == GATE.startupHold and GATE.laneBusy or gate) end
  return gate
end

local started, stale = false, 0
-- Starts one order, whose item of ARGV begins at i, and returns its answer.
local function startOne(lane, i)
  local record, named = leases[lane], ARGV[i + START_ITEM.fence]
  local LEASE_FIELDS
  if record then LEASE_FIELDS = struct.unpack(LEASE.format, record) end
  if not (record and LIFE.start(fence, startedAt, kind, ends, named)) then
    stale = stale + 1
    return 'stale'
  end
  local o, byHand = nil, 0
  if version == '' or hasChanged(lane, named) then
    o = factsOf(lane)
    version, byHand = versionOf(o), delayByHand(o)
  end
  kind = ARGV[i + START_ITEM.kind]
  local judged, gate, till = ARGV[i + START_ITEM.version], nil, nil
  if kind == KIND.page then gate, till = GATES.pageGrant(lane, o, version, judged, named, list)
  else gate, till = GATES.robotsGrant(lane, o, version, judged, named, list) end
  if gate then return refuse(lane, notBefore, gate, till) end
  if --[[rule:start-waits-until-due]] notBefore > now + ahead --[[end]] then
    local answer, waitMs, paceFence, paceDelayMs = 'early', ms(notBefore - now - ahead), '', ''
    return START_ANSWER.joined
  end
  local opens = --[[rule:start-minds-a-raised-delay]] opensAt(lane, notBefore) --[[end]]
  if opens > now + ahead then
    endLease(lane)
    makeDue(lane, opens)
    return GATE.delay
  end
  local paceLane, paceFence, paceDelayMs = ARGV[i + START_ITEM.paceLane], '', ''
  delayMs = tonumber(ARGV[i + START_ITEM.delayMs])
  if paceLane ~= '' then
    local paceKind, paceOpens, owed = kindOfPaceLane(paceLane), nil, nil
    request.lanes[1], request.kind, request.gates = paceLane, paceKind, PACE_GATES[paceKind]
    request.delay = delayMs > byHand and delayMs or byHand
    request.requester, request.of, request.byHand, request.notBefore = lane, lane, byHand, opens
    paceFence, paceOpens, owed = acquire(request)
    if --[[rule:a-closed-pace-lane-refuses]] not paceFence --[[end]] then
      local held = owed == GATE.laneBusy and GATE.paceGroup or owed
      refuse(lane, notBefore, held, paceOpens)
      return held
    end
    opens = paceOpens
    paceDelayMs = owed == delayMs and ARGV[i + START_ITEM.delayMs] or ms(owed)
  end
  started = true
  if policiesText then countRequest(originOf(lane)) end
  startedAt, leastDelayMs, ends, failures, version = now, byHand, now + leaseMs, o and o[FACTS.failures] or '', ''
  if --[[rule:what-is-granted-ahead-is-sent-when-it-is-due]] opens > now --[[end]] then requestAt = opens end
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
  local isRobots = --[[rule:a-robots-fetch-is-noted]] kind ~= KIND.page --[[end]]
  if isRobots then startRobotsFetch(originOf(lane), named, leaseMs) end
  if paceFence == '' and opens <= now then return 'granted' end
  local answer = 'granted'
  local waitMs = --[[rule:an-order-says-how-long-to-wait]] opens > now and ms(opens - now) or '0' --[[end]]
  return START_ANSWER.joined
end

local out = reply()
for n = 1, #lanes do
  out[#out + 1] = startOne(lanes[n], ARG.items + (n - 1) * START_ITEM.size)
end
if started then granted() end
count('stale-start', stale)
flush()
flushSecondary()
return out
