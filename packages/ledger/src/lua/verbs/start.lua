--- @include "lib/secondary"
--[[
  start: turns reservations into leases, right before the first byte is sent. From here on the delay is owed.
  ARGV    ARGS.start in calls.ts, then per order START_ITEM. The kind is page, robots, or robots-page (a page whose URL is a robots.txt).
          paceLane is a lane that shares its pace with this one, or ''.
  Returns per order START_ANSWER, its parts joined by '|':
          granted: with waitMs when it opens that much later, and with the fence and the delay of the lease of the pace lane
          early: to be asked again after waitMs; the reservation stands
          or why it is refused: stale (the lease is not the caller's), startup-hold, stopped (by an emergency stop), rules-changed, back-off
          (also a pause, a block, visiting hours or a budget), robots-in-flight, paced (the pace lane is not due, or the least delay was raised after this one began)
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
local changes, found = {}, call('ZMSCORE', TAG .. KEY.changed, unpack(origins))
for i = 1, #origins do changes[origins[i]] = found[i] end

-- Fences are whole numbers as text, and are compared as such: reading them as numbers costs more.
local OLDEST, LATEST = string.format('%d', (now - CHANGES_KEPT_MS) * 1000), string.rep('9', 20)
local function isAfter(one, other) return #one > #other or (#one == #other and one > other) end
local function hasNotChanged(origin, fence)
  local changed = changes[origin]
  return isAfter(fence, OLDEST) and (--[[rule:a-change-since-the-reservation-counts]] not changed or isAfter(fence, changed) --[[end]])
end
local paceFence, paceOpens, paceDelay
local function isPaceClosed(paceLane, delay, lane, delayText)
  paceFence, paceOpens, paceDelay = acquire({ paceLane }, KIND.paceGroup, delay, leaseMs, ahead, lane, delayText)
  return --[[rule:a-closed-pace-lane-refuses]] not paceFence --[[end]]
end
local answer = {}
local function grantedAnswer(opens, hasPace)
  if hasPace then opens = math.max(opens, paceOpens) end
  answer[START_ANSWER.answer], answer[START_ANSWER.waitMs] = 'granted', ms(math.max(0, opens - now))
  if not hasPace then return table.concat(answer, '|', 1, START_ANSWER.waitMs) end
  answer[START_ANSWER.paceFence], answer[START_ANSWER.paceDelayMs] = paceFence, paceDelay
  return table.concat(answer, '|', 1, START_ANSWER.size)
end

local started, stale = false, 0
-- One order, whose item of ARGV begins at i: what became of it.
local function startOne(lane, origin, i)
  local record, asked = leases[lane], ARGV[i + START_ITEM.fence]
  local LEASE_FIELDS
  if record then LEASE_FIELDS = struct.unpack(LEASE.format, record) end
  if not (record and --[[rule:start-minds-the-fence]] fence == asked --[[end]] and --[[rule:a-lease-starts-once]] startedAt == 0 --[[end]]) then
    stale = stale + 1
    return 'stale'
  end
  local delay, paceLane = tonumber(ARGV[i + START_ITEM.delayMs]), ARGV[i + START_ITEM.paceLane]
  local fetchFence, fetchUntil, failed
  local backOff, pause, closedUntil, least = 0, 0, 0, 0
  if version == '' or not hasNotChanged(origin, asked) then
    local backOffUntil, pausedUntil, blockedUntil, overrideDelay, overrideUntil
    version, backOffUntil, pausedUntil, fetchFence, fetchUntil, failed, blockedUntil, overrideDelay, overrideUntil = unpack(
      call('HMGET', originKey(origin), FIELD.version, FIELD.backOffUntil, FIELD.pausedUntil, FIELD.fetchFence, FIELD.fetchUntil,
      FIELD.failures, FIELD.blockedUntil, FIELD.overrideDelay, FIELD.overrideUntil))
    version = version or '0'
    backOff, pause = tonumber(backOffUntil or '0'), math.max(tonumber(pausedUntil or '0'), tonumber(blockedUntil or '0'))
    closedUntil = math.max(backOff, pause)
    least = isAhead(overrideUntil) and tonumber(overrideDelay) or 0
  end
  local opens, held, gate = notBefore, 0, nil
  if stopsText or policiesText then held, gate = heldUntil(origin) end
  kind = ARGV[i + START_ITEM.kind]
  if --[[rule:start-minds-the-hold]] holdUntil > now --[[end]] then
    endLease(lane); makeDue(lane, opens, holdUntil, GATE.laneBusy, list)
    return 'startup-hold'
  elseif --[[rule:start-minds-a-stop]] held > now --[[end]] then
    endLease(lane); makeDue(lane, opens, held, gate, list)
    return gate == GATE.stopped and 'stopped' or 'back-off'
  elseif --[[rule:start-minds-the-back-off]] closedUntil > now --[[end]] then
    endLease(lane); makeDue(lane, opens, closedUntil, pause >= backOff and GATE.paused or GATE.backOff, list)
    return 'back-off'
  elseif --[[rule:start-minds-the-rules]] version ~= ARGV[i + START_ITEM.version] --[[end]] then
    endLease(lane); makeDue(lane, opens)
    return 'rules-changed'
  elseif --[[rule:one-robots-fetch-at-a-time]] kind ~= KIND.page --[[end]] and fetchFence and tonumber(fetchUntil) > now then
    endLease(lane); makeDue(lane, opens, tonumber(fetchUntil), GATE.robotsInFlight, list)
    return 'robots-in-flight'
  elseif --[[rule:start-waits-until-due]] opens > now + ahead --[[end]] then
    answer[START_ANSWER.answer], answer[START_ANSWER.waitMs] = 'early', ms(opens - now - ahead)
    return table.concat(answer, '|', 1, START_ANSWER.waitMs)
  elseif --[[rule:start-minds-a-raised-delay]] (raised(lane, opens)) > now + ahead --[[end]] then
    -- Until then a delay from before the raise may still run.
    local _, over = raised(lane, opens)
    endLease(lane); makeDue(lane, opens, over, GATE.paceGroup, list)
    return 'paced'
  elseif paceLane ~= '' and isPaceClosed(paceLane, --[[rule:an-override-binds-the-pace-lane]] math.max(delay, least) --[[end]], lane,
    least <= delay and ARGV[i + START_ITEM.delayMs]) then
    endLease(lane); makeDue(lane, opens, paceOpens, GATE.paceGroup, list)
    return 'paced'
  end
  started = true
  if policiesText then countRequest(origin) end
  startedAt, delayMs, leastDelayMs, ends, failures, version = now, delay, least, now + leaseMs, failed or '', ''
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
  if --[[rule:a-robots-fetch-is-noted]] kind ~= KIND.page --[[end]] then
    startRobotsFetch(origin, asked, leaseMs)
    --[[rule:one-call-sees-its-own-changes]] changes[origin] = LATEST --[[end]]
  end
  if paceLane == '' and opens <= now then return 'granted' end
  return grantedAnswer(opens, paceLane ~= '')
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
