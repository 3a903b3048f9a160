--- @include "lib/secondary"
--[[
  start: turns reservations into leases, right before the first byte is sent. From here on the delay is owed.
  ARGV    ARGS.start in calls.ts, then per order START_ITEM. The kind is page, robots, or robots-page (a page whose URL is a robots.txt).
          paceLane is a lane that shares its pace with this one, or ''.
  Returns per order START_ANSWER, its parts joined by '|':
          granted: with waitMs when it opens that much later, and with the fence and the delay of the lease of the pace lane
          early: to be asked again after waitMs; the reservation stands
          stale: the lease is not the caller's
          or the gate that is closed; `delay` where the delay has become longer since the reservation
  Keeps   a refused order has given its lane back, unless the lease was not its own. One robots fetch of an origin at a time. A lane
          and its pace lane are started together or not at all. A lane that is due within aheadMs is granted: the caller waits.
]]
local leaseMs, ahead = tonumber(ARGV[ARG.leaseMs]), tonumber(ARGV[ARG.aheadMs])
-- A lease does not end before its reservation would have: reap finds it in inflight by that, and looks at it again.
local lanes, origins, paceLanes, allLanes = {}, {}, {}, {}
for i = ARG.items, #ARGV, START_ITEM.size do
  local n, lane, paceLane = #lanes + 1, ARGV[i + START_ITEM.lane], ARGV[i + START_ITEM.paceLane]
  lanes[n], origins[n], allLanes[#allLanes + 1] = lane, originOf(lane), lane
  if paceLane ~= '' then paceLanes[#paceLanes + 1], allLanes[#allLanes + 1] = paceLane, paceLane end
end
readLeases(allLanes)
readForSecondary(paceLanes)
readChanges(origins)
if lostAt > 0 then readEnded(allLanes) end

local answer = {}
local function grantedAnswer(opens, paceFence, paceDelay)
  answer[START_ANSWER.answer], answer[START_ANSWER.waitMs] = 'granted', ms(math.max(0, opens - now))
  if not paceFence then return table.concat(answer, '|', 1, START_ANSWER.waitMs) end
  answer[START_ANSWER.paceFence], answer[START_ANSWER.paceDelayMs] = paceFence, paceDelay
  return table.concat(answer, '|', 1, START_ANSWER.size)
end
local function closedHost(lane, o) return closedPaceLane(kindOfPaceLane(lane), lane, o) end

-- The lane of an order that is refused: a gate that waits holds it, and any other finds it due at its own time.
local function refuse(lane, opens, gate, till)
  endLease(lane)
  if --[[rule:a-lane-that-is-judged-again-is-due]] gate == GATE.blocked or gate == GATE.rulesChanged or gate == GATE.refetch or gate == GATE.crawlHeld --[[end]] then makeDue(lane, opens)
  else makeDue(lane, opens, till, gate == GATE.startupHold and GATE.laneBusy or gate) end
  return gate
end

local started, stale = false, 0
-- One order, whose item of ARGV begins at i: what became of it.
local function startOne(lane, origin, i)
  local record, asked = leases[lane], ARGV[i + START_ITEM.fence]
  local LEASE_FIELDS
  if record then LEASE_FIELDS = struct.unpack(LEASE.format, record) end
  if not (record and LIFE.start(fence, startedAt, kind, ends, asked)) then
    stale = stale + 1
    return 'stale'
  end
  local o, byHand = nil, 0
  if version == '' or hasChanged(origin, asked) then
    o = factsOf(lane)
    version, byHand = versionOf(o), delayByHand(o)
  end
  kind = ARGV[i + START_ITEM.kind]
  local judged, gate, till = ARGV[i + START_ITEM.version], nil, nil
  if kind == KIND.page then gate, till = GATES.pageGrant(origin, o, version, judged, asked, list)
  else gate, till = GATES.robotsGrant(origin, o, version, judged, asked, list) end
  if gate then return refuse(lane, notBefore, gate, till) end
  if --[[rule:start-waits-until-due]] notBefore > now + ahead --[[end]] then
    answer[START_ANSWER.answer], answer[START_ANSWER.waitMs] = 'early', ms(notBefore - now - ahead)
    return table.concat(answer, '|', 1, START_ANSWER.waitMs)
  end
  local opens = --[[rule:start-minds-a-raised-delay]] opensAt(lane, notBefore) --[[end]]
  if opens > now + ahead then
    endLease(lane)
    makeDue(lane, opens)
    return GATE.delay
  end
  local paceLane, paceFence, paceDelay = ARGV[i + START_ITEM.paceLane], nil, nil
  if paceLane ~= '' then
    local delay = tonumber(ARGV[i + START_ITEM.delayMs])
    local paceOpens, owed
    paceFence, paceOpens, owed = acquire({ lanes = { paceLane }, kind = kindOfPaceLane(paceLane), delay = math.max(delay, byHand),
      leaseMs = leaseMs, ahead = ahead, requester = lane, of = lane, byHand = byHand, closedBy = closedHost })
    if --[[rule:a-closed-pace-lane-refuses]] not paceFence --[[end]] then
      local held = owed == GATE.laneBusy and GATE.paceGroup or owed
      refuse(lane, notBefore, held, paceOpens)
      return held
    end
    opens = math.max(opens, paceOpens)
    paceDelay = owed == delay and ARGV[i + START_ITEM.delayMs] or ms(owed)
  end
  started = true
  if policiesText then countRequest(origin) end
  local failed = o and o[FACTS.failures] or ''
  startedAt, delayMs, leastDelayMs, ends, failures, version = now, tonumber(ARGV[i + START_ITEM.delayMs]), byHand, now + leaseMs, failed, ''
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
  if --[[rule:a-robots-fetch-is-noted]] kind ~= KIND.page --[[end]] then startRobotsFetch(origin, asked, leaseMs) end
  if not paceFence and opens <= now then return 'granted' end
  return grantedAnswer(opens, paceFence, paceDelay)
end

local out = reply()
for n = 1, #lanes do
  out[#out + 1] = startOne(lanes[n], origins[n], ARG.items + (n - 1) * START_ITEM.size)
end
if started then granted() end
count('stale-start', stale)
flush()
flushSecondary()
return out
