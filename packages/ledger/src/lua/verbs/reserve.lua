--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/line"
--- @include "lib/origin"
--- @include "lib/turns"
--- @include "lib/waking"
--[[
  reserve: reserves lanes that are due, or returns how long to wait.
  ARGV    ARGS.reserve in calls.ts. If a lane is named, only that lane is reserved, due or not, whatever gate holds it:
          an operator drops the pending URLs of that lane.
  Returns 'reserved', more, then per lane: lane, facts, robots state, URLs; or why no lane was reserved, and in how many
          ms to try again, '' when the time is unknown or nothing is pending. Facts are FACT in calls.ts, followed by
          CLOSED_FACT if one of the values of CLOSED_FACT is set. `FACT.joined` joins the locals named like its parts.
  Keeps   a lane is due or has a lease, never both. A lane without URLs stays in due until its delay is over; then
          reserve drops it. A call returns the URLs of at least one lane, and stops once they have MOST_BYTES; the
          remaining lanes stay due, and `more` is '1'.
]]
local MOST_READ_AHEAD = 2000 -- most lanes read that are not due yet, including lanes without URLs
local MOST_BYTES = 1048576 -- of URLs in a reply: 200 lanes with 50 URLs of 4 KB would be 40 MB, too slow
local isHold = --[[rule:reserve-minds-the-hold]] holdUntil > now --[[end]]
if isHold then return reply('startup-hold', ms(holdUntil - now)) end
wakeLanes()
-- Where other crawls exist, a full stream of the default crawl holds only that crawl (turns.lua).
if not hasCrawls and call('XLEN', OUTCOMES) >= tonumber(ARGV[ARG.outcomesLimit]) then
  return reply('outcomes-full', '')
end
local room = tonumber(ARGV[ARG.inFlightLimit]) - slotsTaken()
local limit = math.min(tonumber(ARGV[ARG.limit]), room, 200)
if limit <= 0 then return reply('slots-full', '') end
local aheadMs, peek = tonumber(ARGV[ARG.aheadMs]), tonumber(ARGV[ARG.peek])
local namedLane, namedList = ARGV[ARG.lane], ARGV[ARG.list]
local isNamed = namedLane ~= ''
-- dueLater: place of a lane in `lanes` → instant at which the lane is due, as text; only for lanes that are not yet
-- due.
local lanes, dueLater = {}, {}
local isFull = false -- whether more lanes may be due than `lanes` has
local function gatherDue()
  -- The exact due time of a due lane is not needed, and reading a score costs as much as reading a lane.
  lanes = call('ZRANGE', DUE, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, limit)
  readLanes(lanes)
  -- Skips lanes that are not due and have no record: mostly pace lanes, one for each lane with URLs.
  local most, later, seen = limit - #lanes, {}, 0
  local page = aheadMs > 0 and 2 * most or 0
  local from, till = '(' .. ms(now), ms(now + aheadMs)
  while most > 0 and page > 0 and seen < MOST_READ_AHEAD do
    local soon = call('ZRANGE', DUE, from, till, 'BYSCORE', 'LIMIT', seen, page)
    readLanes(soon)
    for i = 1, #soon do
      local lane = soon[i]
      if most > 0 and (firsts[lane] or memories[lane]) then
        later[#later + 1] = lane
        if hasWork(lane) then most = most - 1 end
      end
    end
    seen = seen + #soon
    page = #soon == page and 2 * page or 0
  end
  isFull = most == 0
  local instants = #later > 0 and call('ZMSCORE', DUE, unpack(later)) or {}
  for i = 1, #later do
    lanes[#lanes + 1] = later[i]
    dueLater[#lanes] = instants[i]
  end
end
if isNamed then
  local due = call('ZSCORE', DUE, namedLane)
  if due then lanes[1], dueLater[1] = namedLane, tonumber(due) > now and due or nil end
  readLanes(lanes)
  isFull = #lanes == limit
else
  local inLine, instantsOfLater
  if hasCrawls then inLine, instantsOfLater = nextInLine(limit, aheadMs) end
  if inLine then
    lanes, dueLater, isFull = inLine, instantsOfLater, true
    readLanes(lanes)
  else gatherDue() end
end
local function nothingDue()
  local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
  return reply('nothing-due', first and ms(math.max(0, tonumber(first) - now)) or '')
end
if #lanes == 0 then return nothingDue() end

local out = reply('reserved', isFull and '1' or '0')
local latestFence = math.max(lastFence(), --[[rule:fences-rise-after-a-loss]] math.floor(now * 1000) --[[end]])
local gone, bytes = {}, 0
local ends = ms(now + tonumber(ARGV[ARG.reserveMs]))
local function reserveLease(lane, fenceText, listName, due, rulesVersion)
  local LEASE_FIELDS = LEASE.none
  fence, list, notBefore, version = fenceText, listName, due, rulesVersion
  putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))
end
local function urlsOf(list, lane)
  if list ~= LIST.normal then return call('LRANGE', TAG .. list .. ':' .. lane, 0, peek - 1) end
  local first, more = firstOf(lane)
  if not (more and peek > 1) then return { first } end
  local urls = call('LRANGE', normalList(lane), 0, peek - 2)
  table.insert(urls, 1, first)
  return urls
end

local nowText = ms(now)
for i = 1, #lanes do
  if bytes > MOST_BYTES then out[REPLY.more] = '1' break end
  local lane, notBefore, due = lanes[i], dueLater[i], now
  if notBefore then due = tonumber(notBefore) else notBefore = nowText end
  local attempts, list, ownDue, heldBy = '', LIST.normal, '', ''
  local others, crawlsHeldUntil = '', 0
  if memories[lane] then
    local memory = memories[lane]
    attempts, list = memory[MEMORY.attempts], memory[MEMORY.list]
    ownDue, heldBy = memory[MEMORY.ownDue], memory[MEMORY.heldBy]
    others = memory[MEMORY.hasHigh]
  end
  local urls, chosen
  if hasCrawls and namedList == '' then chosen, crawlsHeldUntil = chooseList(lane, others, attempts, list, heldBy) end
  if chosen then
    if list ~= chosen then attempts = '' end
    list = chosen; urls = urlsOf(list, lane)
  elseif namedList ~= '' then
    if list ~= namedList then attempts = '' end -- `attempts` belongs to the first URL of another list
    list = namedList; urls = urlsOf(list, lane)
  elseif --[[rule:a-tried-url-comes-first]] attempts ~= '' --[[end]] then urls = urlsOf(list, lane)
  else
    list = LIST.high
    urls = others ~= '' and urlsOf(list, lane) or {}
    if #urls == 0 then
      if others ~= '' then
        local memory = changeMemory(lane)
        memory[MEMORY.list], memory[MEMORY.hasHigh] = '', ''
      end
      list = LIST.normal; urls = urlsOf(list, lane)
    end
  end
  local gate, closedUntil
  local state, version, allOpen, delayMs, o
  if #urls > 0 then
    allOpen, delayMs, state, version = whetherOpen(lane)
    version = version or '0'
    if not allOpen then
      o = factsOf(lane)
      state = stateOf(state, o[FACTS.stateEnds])
      if delayByHand(o) > (tonumber(delayMs) or 0) then delayMs = o[FACTS.overrideDelay] end
    end
    crawlChecks[list] = crawlsHeldUntil
    gate, closedUntil = GATES.pageReserve(lane, o, version, '', '', list)
    closedUntil = closedUntil or 0
  end
  local isBlocked = o and isAhead(o[FACTS.blockedUntil])
  -- A lane whose gate opens no sooner than the lane is due is not reserved: the gateway would defer it again and again.
  local isClosed = gate and --[[rule:reserve-minds-closed-gates]] closedUntil > now and closedUntil >= due --[[end]]
  local isHeld = #urls > 0 and isClosed and not isBlocked and not isNamed
  -- A URL that has expired ends now, in whichever list it is, and whichever gate holds the lane. Some gates are checked
  -- only by the gateway; `heldBy` names such a gate. Otherwise the gateway would defer the lane again and again.
  local wasHeld = others ~= '' and heldBy ~= '' and #urls > 0 and not isNamed
  local expires, listOfIt
  if isHeld or --[[rule:what-expired-in-another-list-ends-first]] wasHeld --[[end]] then
    expires, listOfIt = firstExpiry(lane)
  end
  local isExpired = --[[rule:what-expires-ends-behind-a-closed-gate]] expires and expires <= now --[[end]]
  if isExpired and (isHeld or list ~= listOfIt) then
    isHeld = false
    if list ~= listOfIt then attempts, list = '', listOfIt end
    urls = { firstIn(lane, list) } -- the URLs behind the expired one wait
  end
  local urlCount = #urls
  if urlCount == 0 then
    if chosen and others == OTHERS.crawls then call('ZREM', TAG .. KEY.turns .. lane, crawlOf(chosen))
    elseif --[[rule:an-empty-lane-keeps-its-due-time]] due <= now --[[end]] then
      gone[#gone + 1] = lane; forgetMemory(lane); forgetEnded(lane)
      if isByRecord(heldBy) then call('SREM', TAG .. KEY.heldByPolicy, lane) end
    end
  elseif isHeld then
    makeDue(lane, ownDue ~= '' and tonumber(ownDue) or due, closedUntil, gate)
  else
    if ownDue ~= '' and not isNamed then
      local memory = changeMemory(lane)
      memory[MEMORY.ownDue] = ''
      if isByRecord(heldBy) then call('SREM', TAG .. KEY.heldByPolicy, lane) end
      if memory[MEMORY.attempts] == '' then memory[MEMORY.list] = '' end
    end
    latestFence = latestFence + 1
    local fence = string.format('%d', latestFence)
    gone[#gone + 1] = lane
    indexLease(lane, ends)
    local fetchFence = o and o[FACTS.fetchFence]
    local mayClose = o and --[[rule:open-gates-only-are-relied-on]] (fetchFence or o[FACTS.backOffUntil]
      or o[FACTS.pausedUntil] or o[FACTS.hostPausedUntil] or o[FACTS.blockedUntil] or o[FACTS.failures]
      or o[FACTS.overrideDelay] or o[FACTS.refetchVersion]) --[[end]]
    reserveLease(lane, fence, list, due, mayClose and '' or version)
    local refetch = o and o[FACTS.refetchVersion] == version and '1' or ''
    if attempts == '' and hasCrawls then attempts = attemptsFor(lane, list, urls[1]) end
    if attempts == '' then attempts = '0' end
    delayMs = delayMs or ''
    local facts = FACT.joined
    if heldBy ~= '' or gate or fetchFence or refetch ~= '' or isBlocked then
      if gate then heldBy, closedUntil = gate, ms(closedUntil) else closedUntil = '' end
      fetchFence = fetchFence or ''
      local fetchUntil = o and o[FACTS.fetchUntil] or ''
      local blocked = isBlocked and '.' .. (o[FACTS.blockReason] or '') or ''
      facts = facts .. '|' .. CLOSED_FACT.joined
    end
    local at = #out
    out[at + 1], out[at + 2], out[at + 3] = lane, facts, state or ''
    for h = 1, urlCount do
      out[at + 3 + h] = urls[h]
      bytes = bytes + #urls[h]
    end
  end
end
if #gone > 0 then call('ZREM', DUE, unpack(gone)) end
local isAny = #indexed > 0
if isAny then call('HSET', KEYS[1], EPOCH.fence, string.format('%.0f', latestFence)) end
flush()
if not isAny then return nothingDue() end -- all lanes are empty or closed: no immediate retry
return out
