--- @include "lib/turns"
--[[
  line: the order of due lanes while more are due than may be reserved. Where only the default crawl exists, the lanes
  that were due first come first. With other crawls, due lanes stand in a line, in which crawls take turns by weight
  (start-time fair queueing), so that a crawl with a hundred thousand due lanes delays one with ten by only ten turns.
  docs/decisions/0037-a-line-of-due-lanes.md.

  A lane in line stays in the set `due`, but its score there is its turn instead of an instant. Turns count up from
  LINE.first, so they are negative and in front of all instants. Verbs that do not read turns see a lane that has been
  due for long; due.lua computes since when. The line ends when all its lanes have left.

  {tag}:line    hash  crawl → the end of its latest turn in the present line
  {tag}:lined   zset  instant → the last turn that had been given at that instant; at most one entry a second
]]
local MOST_LINED_UP = 1500 -- most lanes that one call puts into line
local MOST_OF_A_LANE = 5 -- most crawls of a lane that are compared to find the crawl whose turn the lane gets
local MARK_MS, KEPT_MS = 1000, 3600000
local LINE_KEY, LINED = TAG .. KEY.line, TAG .. KEY.lined

local nextTurn -- the lowest turn in line, LINE.first if no lane is in line
local ends, taken = {}, {} -- crawl → the end of its latest turn; crawl → true if it has had a turn in this call
local function endOf(crawl)
  if not ends[crawl] then
    local known = tonumber(call('HGET', LINE_KEY, crawl) or LINE.first)
    ends[crawl] = --[[rule:a-crawl-saves-no-turns-in-line]] math.max(nextTurn, known) --[[end]]
  end
  return ends[crawl]
end
-- For each lane, the crawl whose turn gives the lane its place in line: the crawl with the earliest turn, and a held
-- one only if all crawls of the lane are held; nil for a lane without URLs.
local function crawlsOf(lanes)
  local crawls, alone = {}, {}
  for i = 1, #lanes do
    local isHeld
    for _, name in ipairs(call('ZRANGE', TAG .. KEY.turns .. lanes[i], 0, MOST_OF_A_LANE - 1)) do
      local isThisHeld = --[[rule:a-held-crawl-lends-no-turns]] standingOf(name)[2] --[[end]]
      if not crawls[i] or isHeld and not isThisHeld or isHeld == isThisHeld and endOf(name) < endOf(crawls[i]) then
        crawls[i], isHeld = name, isThisHeld
      end
    end
    if not crawls[i] then alone[#alone + 1] = lanes[i] end
  end
  readLanes(alone)
  for i = 1, #lanes do
    if not crawls[i] and --[[rule:a-lane-without-urls-takes-no-turn]] hasWork(lanes[i]) --[[end]] then
      crawls[i] = CRAWLS.default
    end
  end
  return crawls
end
-- Takes the next turn of a crawl for one of its lanes, and returns that turn; a held crawl has weight 1. For a lane
-- without URLs (the crawl is nil) no turn is taken: the lane leaves the line when reserve reads it.
local function turnOf(crawl)
  if not crawl then return nextTurn end
  local turn, standing = endOf(crawl), standingOf(crawl)
  ends[crawl] = --[[rule:crawls-take-turns-in-line]] turn + (standing[2] and 1 or standing[1]) --[[end]]
  taken[crawl] = true
  return turn
end
local function copyOf(all)
  local copy = {}
  for name, value in pairs(all) do copy[name] = value end
  return copy
end

-- Puts the lanes that have become due since the last call into line.
local function lineUp(lanes)
  local crawls, placed, last = crawlsOf(lanes), {}, nextTurn
  for i = 1, #lanes do
    local turn = turnOf(crawls[i])
    placed[2 * i - 1], placed[2 * i] = ms(turn), lanes[i]
    last = math.max(last, turn)
  end
  call('ZADD', DUE, unpack(placed))
  local mark, place = unpack(call('ZRANGE', LINED, -1, -1, 'WITHSCORES'))
  if mark and now - tonumber(mark) < MARK_MS then return end
  call('ZREMRANGEBYSCORE', LINED, '-inf', '(' .. ms(nextTurn))
  call('ZADD', LINED, ms(math.max(last, tonumber(place or last))), ms(now))
end

-- Returns the `limit` lanes whose turns come next, among the lanes in line and the lanes that become due within
-- `aheadMs`; and a table: place of a lane among them → its due time as text, for lanes that are not due yet. Returns
-- nil when no more than `limit` lanes are due. A lane whose turn comes while its delay still runs is reserved ahead,
-- as in an idle fleet; otherwise each page would be late by the time in which every lane in line has one turn.
local function nextInLine(limit, aheadMs)
  local nowText = ms(now)
  if call('ZCOUNT', DUE, '-inf', nowText) <= limit then return nil end
  nextTurn = tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
  if nextTurn >= 0 then
    nextTurn = LINE.first
    call('DEL', LINE_KEY, LINED)
  end
  local newcomers = call('ZRANGE', DUE, 0, nowText, 'BYSCORE', 'LIMIT', 0, MOST_LINED_UP)
  if #newcomers > 0 then lineUp(newcomers) end

  local lanes, turns = {}, {}
  local function gather(found, valueOf)
    for i = 1, #found, 2 do
      lanes[#lanes + 1] = found[i]
      valueOf[found[i]] = tonumber(found[i + 1])
    end
  end
  gather(call('ZRANGE', DUE, 0, limit - 1, 'WITHSCORES'), turns)
  local instants, crawlOfLane = {}, {} -- for lanes that are not due yet: lane → instant, lane → crawl
  if aheadMs > 0 then
    local most = 2 * limit -- twice the limit, because many of these lanes are pace lanes, which have no URLs
    gather(call('ZRANGE', DUE, '(' .. nowText, ms(now + aheadMs), 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES'), instants)
  end
  if #lanes > limit then
    local soon, endsBefore, takenBefore = { unpack(lanes, limit + 1) }, copyOf(ends), copyOf(taken)
    local crawls = crawlsOf(soon)
    for i = 1, #soon do
      crawlOfLane[soon[i]] = crawls[i]
      turns[soon[i]] = crawls[i] and turnOf(crawls[i]) or math.huge
    end
    table.sort(lanes, function(one, other)
      if turns[one] == turns[other] then return one < other end
      return turns[one] < turns[other]
    end)
    lanes = { unpack(lanes, 1, limit) }
    ends, taken = endsBefore, takenBefore -- takes these turns back, for lanes beyond the limit get none
  end
  local dueLater = {}
  for i = 1, #lanes do
    local lane = lanes[i]
    if instants[lane] then
      dueLater[i] = ms(instants[lane])
      turnOf(crawlOfLane[lane])
    end
  end
  local kept = {}
  for crawl in pairs(taken) do kept[#kept + 1], kept[#kept + 2] = crawl, ms(ends[crawl]) end
  if #kept > 0 then call('HSET', LINE_KEY, unpack(kept)) end
  call('PEXPIRE', LINE_KEY, KEPT_MS)
  call('PEXPIRE', LINED, KEPT_MS)
  return lanes, dueLater
end
