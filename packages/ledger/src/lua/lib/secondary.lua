--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--[[
  secondary: a lease of a lane for a request that none of that lane's URLs asked for: the hop of a robots.txt into another origin
  (KIND.hop), or a request of another lane that shares this one's pace (KIND.paceGroup, docs/decisions/0012-pace-groups.md). It
  is one request at a time, then a delay, like any other.

  A request that finds the lane closed, or others waiting for it, is put into the lane's queue and told when to come again: first
  come, first served. The lane's own URLs have a place in that queue like everybody else.

  {tag}:queues  hash  lane → last|at name|at name|…   last: the latest instant that any request was told; then those that wait, in
                      order: when each was told to come, and the lane it belongs to. The hash ends two hours after its last change.
]]
local LONGEST_WAIT_MS = 3600000 -- a request that would wait longer asks again: URLs end by their own expiry, not by a queue
local LEAST_STEP_MS = 50
local LEAST_GRACE_MS = 250 -- a request that comes later than this, or than one step, has lost its place
local MOST_WAITING = 32 -- more are told a time and get no place
local acquired, acquiredEnds = {}, {}
local takesTurns, orderByTurns -- permit-turns.lua, where it is included
local isByTurn -- whether the line that is looked at has been put in the order of turns
local fence -- the latest one that this call has handed out

local function nextFence()
  fence = (fence or math.max(lastFence(), math.floor(now * 1000))) + 1
  return string.format('%d', fence)
end

-- What secondary leases need of these lanes, read at once: all but their leases (readLeases).
local dueSeen, queueRead = {}, {}
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
local function dueOf(lane) return tonumber(dueRead[lane] or dueSeen[lane]) end

local function placeIn(queue, name)
  for i = 1, #queue do if queue[i].name == name then return i end end
end

-- Who waits for a lane, without those that did not come in time, and without its own URLs when these do not wait in turn.
local function queueOf(lane, asker, ownWaits, step)
  local queue, last, text = {}, 0, queueRead[lane]
  if not text then return queue, last end
  local grace = math.max(step, LEAST_GRACE_MS)
  last = tonumber(string.match(text, '^[^|]*'))
  for at, name in string.gmatch(text, '|(%S+) ([^|]*)') do
    at = tonumber(at)
    local waits = true
    if name == lane then
      waits = ownWaits
      at = not leaseOf(lane) and dueOf(lane) or now -- with a lease, they come when that has ended
    end
    if waits and (--[[rule:a-missed-place-is-lost]] name == asker or at + grace >= now --[[end]]) then
      queue[#queue + 1] = { name = name, at = at }
    end
  end
  return queue, last
end
local function keepQueue(lane, queue, last)
  if #queue == 0 and last <= now then
    if queueRead[lane] then call('HDEL', QUEUES, lane) end
    queueRead[lane] = false
    return
  end
  local text = {}
  for i = 1, #queue do
    last = math.max(last, queue[i].at)
    text[i + 1] = ms(queue[i].at) .. ' ' .. queue[i].name
  end
  text[1] = ms(last)
  queueRead[lane] = table.concat(text, '|')
  call('HSET', QUEUES, lane, queueRead[lane])
  call('PEXPIRE', QUEUES, 2 * LONGEST_WAIT_MS)
end

-- Puts a request into the queue of a lane that opens at an instant, and the lane's own URLs behind it; returns when to come again.
local function waitFor(lane, asker, opens, ownDue, ownWaits, queue, last, step)
  local place = placeIn(queue, asker)
  if not place and asker ~= '' and #queue < MOST_WAITING then
    place = #queue + 1
    queue[place] = { name = asker }
  end
  local at = place and opens + (place - 1) * step or math.max(last + step, opens + #queue * step)
  at = math.min(at, now + LONGEST_WAIT_MS)
  -- Whoever is behind its own URLs comes while the delay of their request runs: later, the next of them would be reserved already.
  if isByTurn and place and (placeIn(queue, lane) or place) < place then at = at - step / 2 end
  if place then queue[place].at = at end
  --[[rule:own-urls-have-a-place]] if ownWaits and not placeIn(queue, lane) then queue[#queue + 1] = { name = lane, at = 0 } end --[[end]]
  local own = placeIn(queue, lane)
  if own then
    local lease = leaseOf(lane)
    queue[own].at = opens + (own - 1) * step
    if not lease then
      local memory = changeMemory(lane)
      memory[MEMORY.ownDue], memory[MEMORY.heldBy] = queue[own].at > ownDue and ms(ownDue) or '', GATE.paceGroup
      setDue(lane, math.max(queue[own].at, ownDue))
    elseif isSecondary(lease[LEASE.kind]) then
      lease[LEASE.turnsAhead] = own - 1
      setLease(lane, lease)
    end
  end
  keepQueue(lane, queue, math.max(last, at))
  return at
end

-- One place is enough: the request leaves the queues of the other lanes that it might have had.
local function leaveOtherQueues(lanes, lane, asker, step)
  if asker == '' then return end
  for k = 1, #lanes do
    local other = lanes[k]
    if other ~= lane and queueRead[other] and string.find(queueRead[other], ' ' .. asker, 1, true) then
      local rest, latest = queueOf(other, asker, true, step)
      local place = placeIn(rest, asker)
      if place then table.remove(rest, place) end
      keepQueue(other, rest, latest)
    end
  end
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
    local allOpen, knownDelay = unpack(call('HMGET', originKey(originOf(lane)), FIELD.allOpen, FIELD.delayOf .. agentOf(lane)))
    if not allOpen then return nil end
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
local function acquire(lanes, kind, delay, leaseMs, ahead, asker, delayText)
  if #lanes == 1 and not (takesTurns and kind == KIND.hop and takesTurns(asker)) then
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
    local queue, last = queueOf(lane, asker, ownWaits and heldBy == GATE.paceGroup, step)
    local place = placeIn(queue, asker)
    isByTurn = takesTurns and kind == KIND.hop and takesTurns(asker) and (place or #queue < MOST_WAITING)
    if isByTurn then
      if not place then queue[#queue + 1] = { name = asker, at = now } end
      -- Own URLs that nobody fetches keep no place: the permit goes.
      if ownWaits and not placeIn(queue, lane) and ownDue + math.max(step, LEAST_GRACE_MS) >= now then queue[#queue + 1] = { name = lane, at = ownDue } end
      orderByTurns(lane, queue, asker)
      place = placeIn(queue, asker)
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
      leaveOtherQueues(lanes, lane, asker, step)
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
    if not best or opens < best[3] then best = { lane, asker, opens, ownDue, ownWaits, queue, last, step } end
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
