--[[
  visit: stands in front of begin and enter. A visit is a lease of a lane that no URL of that lane asked for: the hop of a
  robots.txt ('hop'), or the request of another lane that this one is the clock of ('clock': pace groups, decision 0012).
  It is one request at a time, then silence, like any other; who finds the lane shut is promised a turn.
]]
local LONGEST_TURN_MS = 3600000 -- who waits longer asks again: URLs end by their own time, not by a queue's
local LEAST_STEP_MS = 50
local visited, visitEnds = {}, {}
local fence -- the latest one that this call has handed out

-- A robots fetch of an origin is in flight from here on: an order for its rules, or a page or a hop whose URL is a robots.txt.
-- Nobody else starts one before lease + quarantine are over: a frozen fetcher may still be on the wire.
local function startRobotsFetch(origin, owner, leaseMs)
  local key = P .. 'o:' .. origin
  local ends = now + math.max(tonumber(ARGV[2]), leaseMs)
  call('HSET', key, 'q', owner, 'u', ms(ends))
  noteChange(origin)
  -- an origin of which nothing else is known is forgotten by itself, but not before that; learn sets the real life
  local life = math.ceil(ends - now) + 86400000
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end

local function nextFence()
  fence = math.max(fence or tonumber(call('HGET', KEYS[1], 'fence') or '0'), math.floor(now * 1000)) + 1
  return string.format('%.0f', fence)
end

-- what visits have to know of these lanes, read at once
local dueSeen, turnsRead = {}, {}
local function readForVisits(lanes)
  if #lanes == 0 then return end
  readAll(LEASES, leaseRead, lanes)
  readLanes(lanes)
  readAll(TURNS, turnsRead, lanes)
  local due = call('ZMSCORE', DUE, unpack(lanes))
  for i = 1, #lanes do dueSeen[lanes[i]] = due[i] end
end
local function dueOf(lane) return dueRead[lane] or dueSeen[lane] end
local function turnsOf(lane) return string.match(turnsRead[lane] or '', '^(.*)|(.*)$') end

-- When a visitor may ask again. The first who finds a silence running is promised its end, before the URLs of the lane itself,
-- which is taken ahead and would win each time; the others queue up behind, one step apart. A promise grants nothing.
local function turnOf(lane, opens, held, clock, gap)
  local first, last = turnsOf(lane)
  local step, turn = math.max(gap, LEAST_STEP_MS), nil
  if not held and first ~= ms(opens) then
    first, turn = ms(opens), opens
    local due = dueOf(lane)
    if due and tonumber(due) <= turn then giveBack(lane, clock, turn + step, 'pace-group') end
  else turn = math.max(tonumber(last or '0'), held and now or opens) + step end
  turn = math.min(turn, now + LONGEST_TURN_MS)
  turnsRead[lane] = (first or '') .. '|' .. ms(math.max(tonumber(last or '0'), turn))
  call('HSET', TURNS, lane, turnsRead[lane])
  call('PEXPIRE', TURNS, 2 * LONGEST_TURN_MS)
  return turn
end

-- The first of these lanes (readForVisits) that is open, or opens within `ahead`, is leased: fence, instant it opens, silence owed. None: nil
-- and the instant to come again.
local function visit(lanes, kind, gap, leaseMs, ahead)
  local best, opensAt, isHeld, clockOf
  for i = 1, #lanes do
    local lane = lanes[i]
    local agent = string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1)
    local o = call('HMGET', P .. 'o:' .. originOf(lane), 'bu', 'pu', 'ku', 'og', 'oe', 'g:' .. agent)
    -- a block ends the URLs of its own origin: other origins of the host go on
    local shut = math.max(holdUntil, tonumber(o[1] or '0'), tonumber(o[2] or '0'), kind == 'hop' and tonumber(o[3] or '0') or 0)
    local tries, list, kept, why, high = memOf(lane)
    local clock = tonumber(kept ~= '' and kept or dueOf(lane) or '0')
    local held, _, _, _, owed = leaseOf(lane)
    if not held and shut <= now and clock <= now + ahead then
      local f = nextFence()
      local least = (o[5] and tonumber(o[5]) > now) and o[4] or ''
      local silence = ms(math.max(gap, tonumber(o[6] or '0'), tonumber(least) or 0))
      local _, last = turnsOf(lane)
      if last and tonumber(last) <= now + ahead then -- nobody is waiting any more
        turnsRead[lane] = false
        call('HDEL', TURNS, lane)
      end
      setMem(lane, tries, list, '', why, high) -- whoever wakes the lane later must not find the clock from before this visit
      setLease(lane, f, 'q', clock, now, silence, kind, '', least, '', '')
      visited[#visited + 1] = lane
      visitEnds[#visitEnds + 1] = now + leaseMs; visitEnds[#visitEnds + 1] = lane
      return f, math.max(clock, now), silence
    end
    local opens = math.max(shut, held and now + math.max(tonumber(owed) or 0, gap) or clock)
    if not opensAt or opens < opensAt then best, opensAt, isHeld, clockOf = lane, opens, held, clock end
  end
  return nil, turnOf(best, opensAt, isHeld, clockOf, gap)
end

-- after flush: what was visited is in nobody's queue
local function flushVisits()
  if #visited == 0 then return end
  granted()
  call('HSET', KEYS[1], 'fence', string.format('%.0f', fence))
  call('ZREM', DUE, unpack(visited))
  call('ZREM', INFLIGHT, unpack(visited)) -- given back by an order before it in the same call
  call('ZADD', VISITS, unpack(visitEnds))
end
