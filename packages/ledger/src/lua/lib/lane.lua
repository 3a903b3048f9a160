--- @include "lib/writes"
--- @include "lib/closed-index"
--[[
  lane: the record of a lane in {tag}:lanes: its memory (MEMORY in layout.ts), and the first URL of its list q
  (pending-text.ts). Either part may be missing; a lane with neither has no record. The first URL stays there while it
  is in flight, with '+' in front when the list q may hold more.
]]
local BAR, PLUS = string.byte('|+', 1, 2) -- a URL begins with its path, so with neither of these
local BLANK = { MEMORY.none } -- the memory of a lane that has none; shared, so never changed
local NOTHING = string.rep('|', MEMORY.size + 1)
local memories, firsts = {}, {} -- lane → its memory or false, its first URL or false; nil if not yet read
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

-- The memory of a lane, to read: one text for each name of MEMORY, '' when missing.
local function memoryOf(lane)
  needLane(lane)
  return memories[lane] or BLANK
end
-- The memory of a lane, to change; it is written at the end.
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

-- The first URL of the list q, and whether more may follow it; nil when there is none.
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

-- Whether one change may open this gate for lanes of many origins; reserve then wakes these lanes (waking.lua).
local function isByRecord(gate)
  return gate == GATE.stopped or gate == GATE.visitingHours or gate == GATE.budget
    or --[[rule:a-resume-wakes-all-ports]] gate == GATE.paused --[[end]]
end

-- When a URL of a list expires, on the ledger's time. An expiry is an instant of Redis's clock:
-- records/pending-text.ts.
local function expiryOf(url)
  local ends = tonumber(string.match(url, '^%S+ (%w+)') or '0', 36) * 1000
  return ends + --[[rule:an-expiry-goes-by-the-clock-of-redis]] shift --[[end]]
end
local function firstIn(lane, list)
  if list == LIST.normal then return (firstOf(lane)) end
  return call('LINDEX', listKey(list, lane), 0) or nil
end
-- A URL as a list holds it, without its number of attempts: two readings of one URL are then equal, even if it was
-- requested in between.
local function withoutAttempts(url) return url and (string.gsub(url, '^(%S+ %w+ %w+)~%d+', '%1')) end
-- How many requests were made for the first URL of a list, '' for none. The lane remembers the number for the list that
-- was tried last; in other lists it is written into the URL.
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
-- Counts another request for the first URL of a list. In a lane of several crawls the number is also written into the
-- URL; if the URL was tried before the lane had several crawls, when another list is tried.
local function countAttempt(lane, list)
  local memory = changeMemory(lane)
  local tried, number = memory[MEMORY.list], memory[MEMORY.attempts]
  if number ~= '' and tried ~= list then writeAttempts(lane, tried, number) end
  local before = tonumber(attemptsFor(lane, list, firstIn(lane, list))) or 0
  local attempts = --[[rule:attempts-are-counted]] before + 1 --[[end]]
  memory[MEMORY.attempts], memory[MEMORY.list] = tostring(attempts), list
  if memory[MEMORY.hasHigh] == OTHERS.crawls then writeAttempts(lane, list, attempts) end
end
-- The lists of a lane that may hold URLs; with many crawls, those of the twenty crawls whose turns come next.
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
-- When the first URL in any list of a lane expires, and that list; nil for a lane without URLs.
local function firstExpiry(lane)
  local soonest, list
  for _, name in ipairs(--[[rule:a-url-of-any-list-may-expire]] listsOf(lane) --[[end]]) do
    local first = firstIn(lane, name)
    local expires = first and expiryOf(first)
    if expires and (not soonest or expires < soonest) then soonest, list = expires, name end
  end
  return soonest, list
end

-- Makes a lane due at its own time, or later when a gate holds it until then. The lane then keeps its own due time for
-- a verb that wakes it earlier. No gate holds a lane beyond the expiry of the first URL in any of its lists, because
-- that URL's outcome is due then.
local function makeDue(lane, ownDue, till, heldBy)
  local isHeld = till and till > now
  if isHeld then
    till = --[[rule:a-gate-holds-no-url-beyond-its-expiry]] math.min(till, firstExpiry(lane) or till) --[[end]]
  end
  if till and till > ownDue then
    local memory = changeMemory(lane)
    -- The lane leaves its line: its place there (line.lua) is replaced by an instant at which it was due.
    local own = --[[rule:a-held-lane-leaves-its-line]] ownDue < 0 and now or ownDue --[[end]]
    memory[MEMORY.ownDue], memory[MEMORY.heldBy] = ms(own), heldBy
    if isByRecord(heldBy) then call('SADD', TAG .. KEY.heldByPolicy, lane) end
    indexClosed(heldBy, originOf(lane), till, 'GT')
    setDue(lane, till)
  else
    -- A URL has expired meanwhile: because of `heldBy`, reserve searches for it in the lists of the lane.
    if isHeld and till <= now then changeMemory(lane)[MEMORY.heldBy] = heldBy end
    setDue(lane, ownDue)
  end
end

-- A list of the lane has another first URL, which expires at `expires`. No gate holds the lane beyond that.
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
