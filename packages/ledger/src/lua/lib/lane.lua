--- @include "lib/writes"
--- @include "lib/closed-index"
--[[
  lane: the record of a lane in {tag}:lanes. A record has two parts: the lane's memory (MEMORY in layout.ts), and the
  first URL of its list q (pending-text.ts). Either part may be missing; a lane with neither has no record. The first
  URL stays in the record while it is in flight. A '+' in front of that URL means that the list q may hold more URLs.
]]
local BAR, PLUS = string.byte('|+', 1, 2) -- a URL begins with its path, so never with '|' or '+'
local BLANK = { MEMORY.none } -- an empty memory, for all lanes that have none; never changed
local NOTHING = string.rep('|', MEMORY.size + 1)
local memories, firsts = {}, {} -- lane → its memory, lane → its first URL; false: none, nil: not yet read
local lanesTouched = {}

local function keepRecord(lane, record)
  if not record then memories[lane], firsts[lane] = false, false
  elseif string.byte(record) ~= BAR then memories[lane], firsts[lane] = false, record
  else
    local parts = { string.match(record, MEMORY.pattern) }
    local first = table.remove(parts)
    memories[lane], firsts[lane] = parts, first ~= '' and first
  end
end
local function readLanes(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', LANES, unpack(lanes))
  for i = 1, #lanes do keepRecord(lanes[i], found[i]) end
end
local function needLane(lane)
  if memories[lane] == nil then keepRecord(lane, call('HGET', LANES, lane)) end
end

-- The memory of a lane, for reading only: one text for each name of MEMORY, '' when missing.
local function memoryOf(lane)
  needLane(lane)
  return memories[lane] or BLANK
end
-- The memory of a lane, for changing; `flush` writes the changed memory.
local function changeMemory(lane)
  needLane(lane)
  local memory = memories[lane]
  if not memory then
    memory = { MEMORY.none }
    memories[lane] = memory
  end
  lanesTouched[#lanesTouched + 1] = lane
  return memory
end
local function forgetMemory(lane)
  needLane(lane)
  if memories[lane] then
    memories[lane] = false
    lanesTouched[#lanesTouched + 1] = lane
  end
end

-- The first URL of a lane's list q, and whether the list may hold more URLs; nil when the list is empty.
local function firstOf(lane)
  needLane(lane)
  local first = firsts[lane]
  if not first then return nil end
  if string.byte(first) == PLUS then return string.sub(first, 2), true end
  return first, false
end
local function setFirst(lane, url, more)
  needLane(lane)
  firsts[lane] = url and (more and '+' .. url or url) or false
  lanesTouched[#lanesTouched + 1] = lane
end

local function hasWork(lane)
  if firstOf(lane) then return true end
  local others = memoryOf(lane)[MEMORY.hasHigh]
  if others == OTHERS.crawls then
    return --[[rule:urls-of-other-crawls-are-work]] call('EXISTS', TAG .. KEY.turns .. lane) == 1 --[[end]]
  end
  return --[[rule:high-urls-are-work]] others ~= '' and call('EXISTS', listKey(LIST.high, lane)) == 1 --[[end]]
end

-- Whether a single change can open a gate for lanes of many origins. reserve wakes lanes that such a gate holds
-- (waking.lua).
local function isByRecord(gate)
  return gate == GATE.stopped or gate == GATE.visitingHours or gate == GATE.budget
    or --[[rule:a-resume-wakes-all-ports]] gate == GATE.paused --[[end]]
end

-- When a URL of a list expires, as an instant of the ledger. The URL itself has its expiry in seconds on the clock of
-- Redis (records/pending-text.ts).
local function expiryOf(url)
  local ends = tonumber(string.match(url, '^%S+ (%w+)') or '0', 36) * 1000
  return ends + --[[rule:an-expiry-goes-by-the-clock-of-redis]] shift --[[end]]
end
local function firstIn(lane, list)
  if list == LIST.normal then return (firstOf(lane)) end
  return call('LINDEX', listKey(list, lane), 0) or nil
end
-- A URL as a list holds it, without its number of attempts. This text stays the same when the URL is requested, so that
-- two readings of one URL are equal.
local function withoutAttempts(url) return url and (string.gsub(url, '^(%S+ %w+ %w+)~%d+', '%1')) end
-- How many requests were made for the first URL of a list, as text, '' for none. The number for the list that was tried
-- last is in the memory of the lane. In any other list of the lane, the number is part of the URL's text.
local function attemptsFor(lane, list, first)
  local memory = memoryOf(lane)
  if memory[MEMORY.list] == list and memory[MEMORY.attempts] ~= '' then return memory[MEMORY.attempts] end
  return first and string.match(first, '^%S+ %w+ %w+~(%d+)') or ''
end
local function writeAttempts(lane, list, attempts)
  local first = withoutAttempts(firstIn(lane, list))
  if not first then return end
  local url = string.gsub(first, '^%S+ %w+ %w+', '%0~' .. attempts)
  if list ~= LIST.normal then return call('LSET', listKey(list, lane), 0, url) end
  local _, more = firstOf(lane)
  setFirst(lane, url, more)
end
-- Counts one more request for the first URL of a list, in the memory of the lane. If the memory has the number for
-- another list, that number is first written into the first URL of that list. In a lane of several crawls the new
-- number is also written into the URL that is counted.
local function countAttempt(lane, list)
  local memory = changeMemory(lane)
  local tried, number = memory[MEMORY.list], memory[MEMORY.attempts]
  if number ~= '' and tried ~= list then writeAttempts(lane, tried, number) end
  local before = tonumber(attemptsFor(lane, list, firstIn(lane, list))) or 0
  local attempts = --[[rule:attempts-are-counted]] before + 1 --[[end]]
  memory[MEMORY.attempts], memory[MEMORY.list] = tostring(attempts), list
  if memory[MEMORY.hasHigh] == OTHERS.crawls then writeAttempts(lane, list, attempts) end
end
-- The lists of a lane that may hold URLs; in a lane of many crawls, those of the twenty crawls whose turns come next.
local function listsOf(lane)
  local others = memoryOf(lane)[MEMORY.hasHigh]
  local lists = { LIST.normal }
  if others ~= '' then lists[2] = LIST.high end
  if others == OTHERS.crawls then
    for _, crawl in ipairs(call('ZRANGE', TAG .. KEY.turns .. lane, 0, 19)) do
      if crawl ~= CRAWLS.default then
        lists[#lists + 1], lists[#lists + 2] = listOf(LIST.high, crawl), listOf(LIST.normal, crawl)
      end
    end
  end
  return lists
end
-- The earliest expiry among the first URLs of a lane's lists, and the list of that URL; nil for a lane without URLs.
local function firstExpiry(lane)
  local soonest, list
  for _, name in ipairs(--[[rule:a-url-of-any-list-may-expire]] listsOf(lane) --[[end]]) do
    local first = firstIn(lane, name)
    local expires = first and expiryOf(first)
    if expires and (not soonest or expires < soonest) then soonest, list = expires, name end
  end
  return soonest, list
end

-- Makes a lane due at `ownDue`, or at `till` if the gate `heldBy` holds the lane longer. A held lane remembers
-- `ownDue`, so that a verb can wake the lane earlier. No gate holds a lane beyond the expiry of the first URL in any
-- of its lists: the outcome of that URL is due at its expiry.
local function makeDue(lane, ownDue, till, heldBy)
  local isHeld = till and till > now
  if isHeld then
    till = --[[rule:a-gate-holds-no-url-beyond-its-expiry]] math.min(till, firstExpiry(lane) or till) --[[end]]
  end
  if till and till > ownDue then
    local memory = changeMemory(lane)
    -- A held lane leaves the line of due lanes (line.lua): its place there, a negative number, is replaced by `now`.
    local own = --[[rule:a-held-lane-leaves-its-line]] ownDue < 0 and now or ownDue --[[end]]
    memory[MEMORY.ownDue], memory[MEMORY.heldBy] = ms(own), heldBy
    if isByRecord(heldBy) then call('SADD', TAG .. KEY.heldByPolicy, lane) end
    indexClosed(heldBy, originOf(lane), till, 'GT')
    setDue(lane, till)
  else
    -- A URL of the lane has expired while the gate is closed: `heldBy` makes reserve search all lists for that URL.
    if isHeld and till <= now then changeMemory(lane)[MEMORY.heldBy] = heldBy end
    setDue(lane, ownDue)
  end
end

-- To be called when a list of a lane has a new first URL, which expires at `expires`: a gate that holds the lane longer
-- holds it only until that expiry.
local function capAtExpiry(lane, expires)
  local ownDue = memoryOf(lane)[MEMORY.ownDue]
  local due = ownDue ~= '' and (dueRead[lane] or call('ZSCORE', DUE, lane))
  if not due then return end
  local till = math.max(tonumber(ownDue), expires)
  if --[[rule:a-new-first-url-may-end-a-wait]] till < tonumber(due) --[[end]] then setDue(lane, till) end
end

local function laneRecord(lane, first)
  local memory = memories[lane]
  if memory then
    local text = '|' .. table.concat(memory, '|') .. '|'
    if text ~= NOTHING then return first and text .. first or text end
  end
  return first
end
flushes[#flushes + 1] = function() writeAll(LANES, lanesTouched, firsts, laneRecord) end
