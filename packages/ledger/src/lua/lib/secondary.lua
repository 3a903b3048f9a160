--- @include "lib/queue"
--- @include "lib/origin"
--[[
  secondary: a lease of a lane for a request that none of that lane's URLs asked for: the hop of a robots.txt into another origin
  (KIND.hop), or a request of another lane that shares this one's pace (KIND.paceGroup, docs/decisions/0012-pace-groups.md). It
  is one request at a time, then a delay, like any other. Who finds the lane closed waits in its queue (queue.lua).
]]
local acquired, acquiredEnds = {}, {}
local takesTurns, orderByTurns -- permit-turns.lua, where it is included
local fence -- the latest one that this call has handed out

local function nextFence()
  fence = (fence or math.max(lastFence(), math.floor(now * 1000))) + 1
  return string.format('%d', fence)
end

-- What secondary leases need of these lanes, read at once: all but their leases (readLeases).
local originsAreKnown = true -- anything is stored of any of their origins
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

local lastLeaseMs, lastEnds
local function keepAcquired(lane, leaseMs)
  if leaseMs ~= lastLeaseMs then lastLeaseMs, lastEnds = leaseMs, ms(now + leaseMs) end
  acquired[#acquired + 1] = lane
  local n = #acquiredEnds
  acquiredEnds[n + 1], acquiredEnds[n + 2] = lastEnds, lane
end

-- Leases a lane that nothing holds, as nearly every pace lane is: it has no lease, no URLs and no queue, and no gate of its origin is
-- closed. It returns what `acquire` does, or nothing, and then `acquire` has to look at everything: it costs three times as much.
local function acquireFree(lane, kindOf, delay, delayText, leaseMs, ahead)
  if --[[rule:a-free-lane-has-no-lease]] leases[lane] --[[end]] or --[[rule:a-free-lane-has-no-urls]] memories[lane] or firsts[lane] --[[end]]
    or --[[rule:nobody-waits-for-a-free-lane]] queueRead[lane] --[[end]] or holdUntil > now
    or --[[rule:a-free-lane-minds-a-stop]] stopsText and stoppedUntil(originOf(lane)) > now --[[end]] then return nil end
  local due = dueRead[lane] or dueSeen[lane]
  local opens = due and tonumber(due) or now
  if --[[rule:a-free-lane-is-due]] opens > now + ahead --[[end]] or --[[rule:a-raise-is-over-in-a-free-lane]] mayBeRaised(opens) --[[end]] then return nil end
  if --[[rule:a-known-origin-may-have-gates]] originsAreKnown --[[end]] then
    local key = originKey(originOf(lane))
    local allOpen, knownDelay = unpack(call('HMGET', key, FIELD.allOpen, FIELD.delayOf .. agentOf(lane)))
    if not allOpen and --[[rule:the-gates-of-a-free-lane-are-open]] call('EXISTS', key) == 1 --[[end]] then return nil end
    if knownDelay and --[[rule:a-free-lane-owes-the-known-delay]] tonumber(knownDelay) > delay --[[end]] then delay, delayText = knownDelay, knownDelay end
  end
  local given = nextFence()
  local LEASE_FIELDS = LEASE.none
  fence, list, kind, notBefore, startedAt, delayMs = given, LIST.normal, kindOf, opens, now, delay
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
  keepAcquired(lane, leaseMs)
  return given, math.max(opens, now), delayText
end

-- The first of these lanes (readLeases, readForSecondary) that is due, or will be within `ahead`, and for which no earlier request
-- waits, is leased: returns the fence, the instant at which it opens, and the delay owed. None: nil and the instant to come again.
-- `delayText` is the delay as text where the caller has one.
local function acquire(lanes, kind, delay, leaseMs, ahead, requester, delayText)
  if #lanes == 1 and not (takesTurns and kind == KIND.hop and takesTurns(requester)) then
    local given, opens, owed = acquireFree(lanes[1], kind, delay, delayText or ms(delay), leaseMs, ahead)
    if given then return given, opens, owed end
  end
  local best
  local step = math.max(delay, LEAST_STEP_MS)
  for i = 1, #lanes do
    local lane = lanes[i]
    local backOffUntil, pausedUntil, blockedUntil, overrideDelay, overrideUntil, knownDelay = unpack(call('HMGET',
      originKey(originOf(lane)), FIELD.backOffUntil, FIELD.pausedUntil, FIELD.blockedUntil, FIELD.overrideDelay,
      FIELD.overrideUntil, FIELD.delayOf .. agentOf(lane)))
    -- A block ends the URLs of its own origin only: other origins of a pace group go on.
    local closed = math.max(holdUntil, tonumber(backOffUntil or '0'), tonumber(pausedUntil or '0'),
      kind == KIND.hop and tonumber(blockedUntil or '0') or 0, --[[rule:a-secondary-lease-minds-a-stop]] (heldUntil(originOf(lane), kind == KIND.paceGroup)) --[[end]])
    local memory = memoryOf(lane)
    local kept, heldBy = memory[MEMORY.ownDue], memory[MEMORY.heldBy]
    local known = tonumber(kept) or dueOf(lane) or now -- of a lane that was forgotten, the last delay ended by now
    local ownDue = --[[rule:a-secondary-lease-minds-a-raised-delay]] (raised(lane, known)) --[[end]]
    local held = leaseOf(lane)
    -- Its own URLs wait like others, unless one of them is in flight or another gate holds them.
    local ownWaits = (kept == '' or heldBy == GATE.paceGroup) and (not held or isSecondary(held[LEASE.kind])) and hasWork(lane)
    local queue, last = queueOf(lane, requester, ownWaits and heldBy == GATE.paceGroup, step)
    local place = placeIn(queue, requester)
    isByTurn = takesTurns and kind == KIND.hop and takesTurns(requester) and (place or #queue < MOST_WAITING)
    if isByTurn then
      if not place then queue[#queue + 1] = { name = requester, at = now } end
      -- The lane's own URLs keep no place when no fetcher serves them: the permit is granted.
      if ownWaits and not placeIn(queue, lane) and ownDue + math.max(step, LEAST_GRACE_MS) >= now then queue[#queue + 1] = { name = lane, at = ownDue } end
      orderByTurns(lane, queue, requester)
      place = placeIn(queue, requester)
    end
    local isFirst = true
    for k = 1, (place or #queue + 1) - 1 do
      isFirst = --[[rule:first-come-first-served]] isFirst and queue[k].at > now + step --[[end]]
    end
    if isFirst and --[[rule:a-secondary-lease-is-alone]] not held --[[end]] and closed <= now and --[[rule:a-secondary-lease-waits-until-due]] ownDue <= now + ahead --[[end]] then
      local f = nextFence()
      local least = --[[rule:an-override-binds-secondary-leases]] isAhead(overrideUntil) and tonumber(overrideDelay) or 0 --[[end]]
      local owed = --[[rule:a-secondary-lease-owes-the-known-delay]] ms(math.max(delay, tonumber(knownDelay or '0'), least)) --[[end]]
      if place then table.remove(queue, place) end
      if ownWaits and not placeIn(queue, lane) then queue[#queue + 1] = { name = lane, at = now + delay } end
      keepQueue(lane, queue, last)
      leaveOtherQueues(lanes, lane, requester, step)
      -- What wakes the lane later must not find its due time from before this lease.
      if kept ~= '' or ownWaits then
        local changed = changeMemory(lane)
        changed[MEMORY.ownDue] = ''
        if ownWaits then changed[MEMORY.heldBy] = GATE.paceGroup end
      end
      local own = placeIn(queue, lane)
      local lease = { LEASE.none }
      lease[LEASE.fence], lease[LEASE.list] = f, LIST.normal
      lease[LEASE.notBefore] = --[[rule:an-unused-secondary-lease-keeps-the-due-time]] ownDue --[[end]]
      lease[LEASE.kind], lease[LEASE.startedAt], lease[LEASE.delayMs], lease[LEASE.leastDelayMs] = kind, now, owed, least
      if own then lease[LEASE.turnsAhead] = own - 1 end
      setLease(lane, lease)
      keepAcquired(lane, leaseMs)
      return f, math.max(ownDue, now), owed
    end
    local opens = math.max(closed, held and now + math.max(held[LEASE.delayMs], delay) or ownDue, now)
    if not best or opens < best[3] then best = { lane, requester, opens, ownDue, ownWaits, queue, last, step } end
  end
  return nil, waitFor(unpack(best))
end

-- After flush: a lane with a secondary lease is neither due nor in flight for its own URLs.
local function flushSecondary()
  if #acquired == 0 then return end
  granted()
  call('HSET', KEYS[1], EPOCH.fence, string.format('%d', fence))
  call('ZREM', DUE, unpack(acquired))
  call('ZADD', SECONDARY, unpack(acquiredEnds))
end
