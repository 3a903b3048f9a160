--[[
  visit: stands in front of begin and acquire. A visit is a lease of a lane that no URL of that lane asked for: the hop of a
  robots.txt ('hop'), or the request of another lane that this one is the clock of ('clock': pace groups, decision 0012).
  It is one request at a time, then silence, like any other. Whoever finds the lane shut, or others waiting for it, is put in
  its queue and told when to come again: first come, first served. The lane's own URLs have a place in it like everybody.

  {tag}:queues  hash  lane → last|at name|at name|…   last: the latest instant that anybody was told; then who waits, in order,
                      and when each was told to come (ms since 1970 UTC). A name is that of a lane.
]]
local LONGEST_WAIT_MS = 3600000 -- who waits longer asks again: URLs end by their own time, not by a queue's
local LEAST_STEP_MS = 50
local LEAST_GRACE_MS = 250 -- who comes later than this, or than one step, has lost the place; whoever died costs as much, once
local MOST_WAITING = 32 -- more have a time, and no place
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
local dueSeen, queueRead = {}, {}
local function readForVisits(lanes)
  if #lanes == 0 then return end
  readAll(LEASES, leaseRead, lanes)
  readLanes(lanes)
  readAll(QUEUES, queueRead, lanes)
  local due = call('ZMSCORE', DUE, unpack(lanes))
  for i = 1, #lanes do dueSeen[lanes[i]] = due[i] end
end
local function dueOf(lane) return tonumber(dueRead[lane] or dueSeen[lane]) end

local function placeIn(queue, name)
  for i = 1, #queue do if queue[i].name == name then return i end end
end

-- Who waits for a lane, without those who have not come in time, and without its own URLs when they do not wait in turn.
local function queueOf(lane, asker, ownWaits, step)
  local queue, last, text = {}, 0, queueRead[lane]
  if not text then return queue, last end
  local grace = math.max(step, LEAST_GRACE_MS)
  last = tonumber(string.match(text, '^[^|]*'))
  for at, name in string.gmatch(text, '|(%S+) ([^|]*)') do
    at = tonumber(at)
    local waits
    if name == lane then
      waits = ownWaits
      at = not leaseOf(lane) and dueOf(lane) or now -- in flight: it comes when that has ended
    else waits = true end
    if waits and (name == asker or at + grace >= now) then queue[#queue + 1] = { name = name, at = at } end
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

-- Puts who asks into the queue of a lane that opens at an instant, and its own URLs behind; answers when to come again.
local function waitFor(lane, asker, opens, clock, ownWaits, queue, last, step)
  local place = placeIn(queue, asker)
  if not place and asker ~= '' and #queue < MOST_WAITING then
    place = #queue + 1
    queue[place] = { name = asker }
  end
  local at = place and opens + (place - 1) * step or math.max(last + step, opens + #queue * step)
  at = math.min(at, now + LONGEST_WAIT_MS)
  if place then queue[place].at = at end
  if ownWaits and not placeIn(queue, lane) then queue[#queue + 1] = { name = lane, at = 0 } end
  local own = placeIn(queue, lane)
  if own then
    local owner, list, notBefore, started, delay, kind, failing, least, _, ends = leaseOf(lane)
    queue[own].at = opens + (own - 1) * step
    if not owner then
      local tries, of, _, _, high = memOf(lane)
      setMem(lane, tries, of, queue[own].at > clock and ms(clock) or '', 'pace-group', high)
      setDue(lane, math.max(queue[own].at, clock))
    elseif isVisit(kind) then setLease(lane, owner, list, notBefore, started, delay, kind, failing, least, tostring(own - 1), ends) end
  end
  keepQueue(lane, queue, math.max(last, at))
  return at
end

-- The first of these lanes (readForVisits) that is open, or opens within `ahead`, and that nobody waits for who came before, is
-- leased: fence, instant it opens, silence owed. None: nil and the instant to come again. The lease says in place of a version
-- how many come before the lane's own URLs: settle opens the lane to them so much later.
local function visit(lanes, kind, delay, leaseMs, ahead, asker)
  local best
  local step = math.max(delay, LEAST_STEP_MS)
  for i = 1, #lanes do
    local lane = lanes[i]
    local agent = string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1)
    local o = call('HMGET', P .. 'o:' .. originOf(lane), 'bu', 'pu', 'ku', 'og', 'oe', 'g:' .. agent)
    -- a block ends the URLs of its own origin: other origins of the host go on
    local shut = math.max(holdUntil, tonumber(o[1] or '0'), tonumber(o[2] or '0'), kind == 'hop' and tonumber(o[3] or '0') or 0)
    local tries, list, kept, why, high = memOf(lane)
    local clock = tonumber(kept) or dueOf(lane) or 0
    local held, _, _, _, owed, holder = leaseOf(lane)
    -- its own URLs wait like others, but for those that are being asked for, and those that a gate keeps back
    local ownWaits = (kept == '' or why == 'pace-group') and (not held or isVisit(holder)) and hasWork(lane, high)
    local queue, last = queueOf(lane, asker, ownWaits and why == 'pace-group', step)
    local place = placeIn(queue, asker)
    local isFirst = true
    for k = 1, (place or #queue + 1) - 1 do isFirst = isFirst and queue[k].at > now + step end
    if isFirst and not held and shut <= now and clock <= now + ahead then
      local f = nextFence()
      local least = (o[5] and tonumber(o[5]) > now) and o[4] or ''
      local silence = ms(math.max(delay, tonumber(o[6] or '0'), tonumber(least) or 0))
      if place then table.remove(queue, place) end
      if ownWaits and not placeIn(queue, lane) then queue[#queue + 1] = { name = lane, at = now + delay } end
      keepQueue(lane, queue, last)
      for k = 1, #lanes do -- one place is enough
        local other = lanes[k] ~= lane and asker ~= '' and queueRead[lanes[k]]
        if other and string.find(other, ' ' .. asker, 1, true) then
          local rest, latest = queueOf(lanes[k], asker, true, step)
          local mine = placeIn(rest, asker)
          if mine then table.remove(rest, mine) end
          keepQueue(lanes[k], rest, latest)
        end
      end
      setMem(lane, tries, list, '', ownWaits and 'pace-group' or why, high) -- whoever wakes the lane later must not find the clock from before this visit
      local own = placeIn(queue, lane)
      setLease(lane, f, 'q', clock, now, silence, kind, '', least, own and tostring(own - 1) or '', '')
      visited[#visited + 1] = lane
      visitEnds[#visitEnds + 1] = now + leaseMs; visitEnds[#visitEnds + 1] = lane
      return f, math.max(clock, now), silence
    end
    local opens = math.max(shut, held and now + math.max(tonumber(owed) or 0, delay) or clock, now)
    if not best or opens < best[3] then best = { lane, asker, opens, clock, ownWaits, queue, last, step } end
  end
  return nil, waitFor(unpack(best))
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
