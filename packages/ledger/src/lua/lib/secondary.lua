--- @include "lib/queue"
--- @include "lib/origin"
--[[
  secondary: a lease of a lane for a request that none of that lane's URLs needs: the hop of a robots.txt into another
  origin (KIND.hop), a permit (KIND.permit), or a request of another lane with which the leased lane shares its pace
  (KIND.host, KIND.paceGroup: docs/decisions/0012-pace-groups.md). Like every lease, a secondary lease is for one
  request at a time, and then the lane owes a delay. A request that finds the lane closed waits in the lane's queue
  (queue.lua).
]]
local acquired = {}
local takesTurns, orderByTurns -- defined in permit-turns.lua, if that is included
local fence -- the latest fence that this call has handed out, nil for none

local function nextFence()
  fence = (fence or math.max(lastFence(), math.floor(now * 1000))) + 1
  return string.format('%d', fence)
end

-- readForSecondary reads, with few commands, the facts about lanes that secondary leases need; readLeases reads leases.
local originsAreKnown = true -- whether anything is stored about the origin of any of these lanes
local function readForSecondary(lanes)
  if #lanes == 0 then return end
  readLanes(lanes)
  local queues = call('EXISTS', QUEUES) == 1 and call('HMGET', QUEUES, unpack(lanes)) or {}
  local due = call('ZMSCORE', DUE, unpack(lanes))
  local origins = {}
  for i = 1, #lanes do
    local lane = lanes[i]
    queueRead[lane], dueSeen[lane], origins[i] = queues[i], due[i], originKey(originOf(lane))
  end
  originsAreKnown = call('EXISTS', unpack(origins)) > 0
end

-- reap first checks a secondary lease after this time, although the lease lasts longer. The entry in `inflight` is then
-- near the beginning, ahead of new reservations. Redis searches a small sorted set from its beginning; with entries at
-- the end, this search took two fifths of the time of start.
local FIRST_CHECK_MS = 5000
local lastLeaseMs, lastCheck
local function keepAcquired(lane, leaseMs)
  if leaseMs ~= lastLeaseMs then lastLeaseMs, lastCheck = leaseMs, ms(now + math.min(leaseMs, FIRST_CHECK_MS)) end
  local n = #acquired + 1
  acquired[n], slotless[n] = lane, lane
  indexLease(lane, lastCheck)
end

-- kind of a pace lane → the function that reads the gates of such a lane; a request holds a pace lane beside its own.
local PACE_GATES = { [KIND.host] = GATES.hostGrant, [KIND.paceGroup] = GATES.groupGrant }

-- A request for one of several lanes is a table: `lanes` (after readLeases and readForSecondary), `kind`, `delay` (owed
-- at least, ms), `leaseMs`, `ahead` (ms), `requester` (the name under which the request has its place in a queue, ''
-- for none), `of` (the lane that makes the request, '' for the leased lane), `notBefore` (when another lane of the same
-- request opens, nil for none), and `gates(lane, o, version, '', '', '')`, which returns the gate that closes a lane,
-- and until when.

-- The delay that the requesting lane demands; 0 for a request of `start` (`byHand` is set), whose `delay` includes it.
local function owedToOther(request)
  return request.of ~= '' and not request.byHand and demandedOf(request.of) or 0
end
-- The least delay that a lease owes by the facts at its grant.
local function owedAtGrant(lane, request)
  local owed = math.max(request.delay, owedToOther(request))
  return request.kind == KIND.paceGroup and owed or math.max(owed, (demandedOf(lane)))
end

-- A short cut for a lane that nothing holds, like nearly every pace lane: no lease, no URLs, no queue, no closed gate.
-- Returns what `findLane` is to return; or nil if the short cut fails: then `findLane` must read all facts about the
-- lane, which costs three times as much.
local function readFree(lane, request)
  if --[[rule:a-free-lane-has-no-lease]] leases[lane] --[[end]]
    or --[[rule:a-free-lane-has-no-urls]] memories[lane] or firsts[lane] --[[end]]
    or --[[rule:nobody-waits-for-a-free-lane]] queueRead[lane] --[[end]] then return nil end
  local allOpen, known, _, version
  if --[[rule:a-known-origin-may-have-gates]] originsAreKnown --[[end]] then
    allOpen, known, _, version = whetherOpen(lane)
    if not allOpen then
      local isKnown = call('EXISTS', originKey(originOf(lane))) == 1
      if --[[rule:the-gates-of-a-free-lane-are-open]] isKnown --[[end]] then return nil end
    end
  end
  if request.gates(lane, nil, version or '0', '', '', '') then return nil end
  local due = dueRead[lane] or dueSeen[lane]
  local opens = opensAt(lane, due and tonumber(due) or now)
  if --[[rule:a-free-lane-is-due]] opens > now + request.ahead --[[end]] then return nil end
  local owed = request.byHand and request.delay or math.max(request.delay, owedToOther(request))
  if request.kind ~= KIND.paceGroup and (known or policiesText or owed < longestLeast) then
    local demanded, isConsented = demandedOfAll(lane)
    local recorded = isConsented and 0 or tonumber(known or 0)
    owed = math.max(owed, demanded, --[[rule:a-free-lane-owes-the-known-delay]] recorded --[[end]])
  end
  return { lane = lane, isFree = true, isEmpty = true, opens = opens, owed = owed, request = request }
end

-- Returns a table about the first of the request's lanes that is due, or becomes due within `ahead`, and for which no
-- earlier request waits. If there is no such lane, the table is about the lane that opens first.
local function findLane(request)
  local lanes, kind, requester, ahead = request.lanes, request.kind, request.requester, request.ahead
  local isOfCrawl = --[[rule:permits-of-crawls-take-turns]] takesTurns and kind == KIND.permit --[[end]]
    and takesTurns(requester)
  if #lanes == 1 and not isOfCrawl then
    local free = readFree(lanes[1], request)
    if free then return free end
  end
  local best
  local step = math.max(request.delay, LEAST_STEP_MS)
  for i = 1, #lanes do
    local lane = lanes[i]
    local o = factsOf(lane)
    local gate, closed = request.gates(lane, o, versionOf(o), '', '', '')
    local memory = memoryOf(lane)
    local kept, heldBy = memory[MEMORY.ownDue], memory[MEMORY.heldBy]
    local known = tonumber(kept) or dueOf(lane) or now -- a lane without a due time was deleted when its delay had ended
    local ownDue = opensAt(lane, known)
    local held = leaseOf(lane)
    -- The lane's own URLs wait in the queue like other requests, unless one of these URLs is in flight or a gate holds
    -- them: then the end of that request, or the opening of that gate, ends their wait.
    local ownWaits = not gate and (kept == '' or heldBy == GATE.paceGroup)
      and (not held or isSecondary(held[LEASE.kind])) and hasWork(lane)
    local queue, last = queueOf(lane, requester, ownWaits and heldBy == GATE.paceGroup, step)
    local place = placeIn(queue, requester)
    isByTurn = isOfCrawl and (place or #queue < MOST_WAITING)
    if isByTurn then
      if not place then queue[#queue + 1] = { name = requester, at = now } end
      -- While no fetcher serves the lane's own URLs, these get no place in the queue, and so hold up no permit.
      local isServed = --[[rule:urls-that-nobody-fetches-keep-no-permit-back]]
        ownDue + math.max(step, LEAST_GRACE_MS) >= now --[[end]]
      if --[[rule:own-urls-take-turns-with-permits]] ownWaits and not placeIn(queue, lane) --[[end]] and isServed then
        queue[#queue + 1] = { name = lane, at = ownDue }
      end
      orderByTurns(lane, queue, requester)
      place = placeIn(queue, requester)
    end
    local isFirst = true
    for k = 1, (place or #queue + 1) - 1 do
      isFirst = --[[rule:first-come-first-served]] isFirst and queue[k].at > now + step --[[end]]
    end
    local isFree = isFirst and --[[rule:a-secondary-lease-is-alone]] not held --[[end]] and not gate
      and --[[rule:a-secondary-lease-waits-until-due]] ownDue <= now + ahead --[[end]]
    local heldFor = held and math.max(held[LEASE.delayMs], request.delay)
    local opens = math.max(gate and closed or 0, heldFor and now + heldFor or ownDue, now)
    local found = {
      lane = lane, isFree = isFree, opens = isFree and ownDue or opens, gate = gate, held = held, request = request,
      ownDue = ownDue, ownWaits = ownWaits, kept = kept, queue = queue, last = last, place = place, step = step,
      isByTurn = isByTurn,
    }
    if isFree then return found end
    if not best or opens < best.opens then best = found end
  end
  return best
end

-- Leases a free lane: returns the fence, the instant at which its request may be sent, and the delay owed.
local function take(found)
  local lane, request = found.lane, found.request
  local given = nextFence()
  local owed, before = found.owed, 0
  if not found.isEmpty then
    owed = owedAtGrant(lane, request)
    if found.place then table.remove(found.queue, found.place) end
    if found.ownWaits and not placeIn(found.queue, lane) then
      found.queue[#found.queue + 1] = { name = lane, at = now + request.delay }
    end
    keepQueue(lane, found.queue, found.last)
    -- The remaining items of this call must find the lane leased, and not due.
    --[[rule:a-leased-lane-is-not-due]] dueRead[lane], dueSeen[lane] = nil, nil --[[end]]
    leaveOtherQueues(request.lanes, lane, request.requester, found.step)
    -- When the lane is woken, the due time from before this lease must no longer be there.
    if found.kept ~= '' or found.ownWaits then
      local changed = changeMemory(lane)
      changed[MEMORY.ownDue] = ''
      if found.ownWaits then changed[MEMORY.heldBy] = GATE.paceGroup end
    end
    before = (placeIn(found.queue, lane) or 1) - 1
  end
  local others = --[[rule:a-request-waits-for-all-of-its-lanes]] request.notBefore or 0 --[[end]]
  local opens = math.max(found.opens, now, others)
  local LEASE_FIELDS = LEASE.none
  fence, list, kind, of, delayMs, turnsAhead = given, LIST.normal, request.kind, request.of, owed, before
  startedAt, requestAt, ends = now, opens, now + request.leaseMs
  notBefore = --[[rule:an-unused-secondary-lease-keeps-the-due-time]] found.opens --[[end]]
  -- A negative instant is a place in the line of due lanes (line.lua), which a leased lane has left.
  if --[[rule:a-lease-keeps-no-place-in-line]] notBefore < 0 --[[end]] then notBefore = now end
  leastDelayMs = request.byHand or request.of ~= '' and delayByHand(factsOf(request.of)) or 0
  if not found.isEmpty then leastDelayMs = math.max(leastDelayMs, delayByHand(factsOf(lane))) end
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
  keepAcquired(lane, request.leaseMs)
  return given, opens, owed
end

-- Gives a request that must wait its place in the queue of a lane, and returns when to try again. Behind a closed gate
-- there is no queue: the gate may open early, and the verb that then wakes the lane reads no queue.
local function await(found, opens, gate)
  if --[[rule:no-line-behind-a-gate]] gate --[[end]] then return math.min(opens, now + LONGEST_WAIT_MS) end
  isByTurn = found.isByTurn
  return waitFor(found.lane, found.request.requester, opens, found.ownDue or found.opens, found.ownWaits,
    found.queue or {}, found.last or 0, found.step or math.max(found.request.delay, LEAST_STEP_MS))
end

-- Leases the first free lane of a request. Returns the fence, the instant at which the request may be sent, the delay
-- owed, and the lane. If no lane is free: returns nil, the instant to try again, and why (a gate's name).
local function acquire(request)
  local found = findLane(request)
  if found.isFree then
    local given, opens, owed = take(found)
    return given, opens, owed, found.lane
  end
  if found.gate == GATE.blocked then return nil, found.opens, found.gate end
  return nil, await(found, found.opens, found.gate), found.gate or (found.held and GATE.laneBusy or GATE.paceGroup)
end

-- Leases a lane and its pace lane, both or neither. So no lane is held for a request that still waits for its second
-- lane. own: the result of `findLane` for the lane;  paceLane: '' for none. Returns the fence, the instant at which the
-- request may be sent, the delay owed, and fence and delay of the pace lane's lease. If one of the two lanes is not
-- free: returns nil, the instant to try again, and the gate, if one is known. The request then has a place in the
-- lane's queue, and also in the pace lane's queue if only the pace lane is closed.
local function acquireBoth(own, paceLane)
  local request, pace = own.request, nil
  if paceLane ~= '' then
    local owed, kind = request.delay, kindOfPaceLane(paceLane)
    if --[[rule:the-pace-lane-of-a-permit-owes-its-delay]] own.isFree --[[end]] then
      owed = own.owed or owedAtGrant(own.lane, request)
    end
    pace = findLane({
      lanes = { paceLane }, kind = kind, delay = owed, leaseMs = request.leaseMs, ahead = request.ahead,
      requester = request.requester, of = own.lane, gates = PACE_GATES[kind],
    })
  end
  if own.isFree and (not pace or --[[rule:a-closed-pace-lane-refuses-both]] pace.isFree --[[end]]) then
    request.notBefore = pace and pace.opens
    local given, opens, owed = take(own)
    if not pace then return given, opens, owed end
    pace.request.notBefore = opens
    local paceFence, _, paceOwed = take(pace)
    return given, opens, owed, paceFence, paceOwed
  end
  -- At least one of the two lanes is not free, so neither is leased.
  local gate = own.gate or pace and pace.gate
  local opens = math.max(own.opens, pace and not pace.isFree and pace.opens or 0)
  local at = --[[rule:a-request-keeps-its-place-in-both-lines]] await(own, opens, gate) --[[end]]
  if not own.isFree then return nil, at, own.gate or own.held and GATE.laneBusy end
  return nil, math.max(at, await(pace, math.max(pace.opens, at), pace.gate)), pace.gate or GATE.paceGroup
end

-- To be called after flush: stores the latest fence, and removes the lanes that got a secondary lease from `due`.
local function flushSecondary()
  if #acquired == 0 then return end
  granted()
  call('HSET', KEYS[1], EPOCH.fence, string.format('%d', fence))
  call('ZREM', DUE, unpack(acquired))
end
