--- @include "lib/lane"
--- @include "lib/lease"
--[[
  queue: requests that wait for a secondary lease of a lane. A request that finds the lane closed, or others waiting for
  it, enters the lane's queue and gets an instant at which to try again: first come, first served. The lane's own URLs
  have a place in that queue like every request, under the name of the lane.

  {tag}:queues  hash  lane → last|at name|at name|…   last: the latest instant that any request was given; then the
                waiting requests in order: the instant to try again, and the name of the requester (usually a lane). The
                hash expires two hours after its last change.
]]
-- The longest time until a waiting request tries again, ms: a URL that waits must be able to end by its own expiry.
local LONGEST_WAIT_MS = 3600000
local LEAST_STEP_MS = 50
local LEAST_GRACE_MS = 250 -- a request that is late by more than this, and more than one step, loses its place
local MOST_WAITING = 32 -- most places in a queue; further requests get an instant to try again, but no place
local isByTurn -- whether the queue of the current request was sorted by turns (permit-turns.lua)
local dueSeen, queueRead = {}, {} -- lane → when it is due; lane → its queue, as text; filled by readForSecondary
local function dueOf(lane) return tonumber(dueRead[lane] or dueSeen[lane]) end

local function placeIn(queue, name)
  for i = 1, #queue do if queue[i].name == name then return i end end
end

-- The queue of a lane, without requests that missed their instant, and without the lane's own URLs unless `ownWaits`;
-- and the latest instant that any request was given.
local function queueOf(lane, requester, ownWaits, step)
  local queue, last, text = {}, 0, queueRead[lane]
  if not text then return queue, last end
  local grace = math.max(step, LEAST_GRACE_MS)
  last = tonumber(string.match(text, '^[^|]*'))
  for at, name in string.gmatch(text, '|(%S+) ([^|]*)') do
    at = tonumber(at)
    local waits = true
    if name == lane then
      waits = ownWaits
      at = not leaseOf(lane) and dueOf(lane) or now -- during a lease, URLs are not late
    end
    if waits and (--[[rule:a-missed-place-is-lost]] name == requester or at + grace >= now --[[end]]) then
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

-- Puts a request into the queue of a lane that opens at `opens`, and the lane's own URLs behind the request if they
-- wait (`ownWaits`). Returns when the request is to try again.
local function waitFor(lane, requester, opens, ownDue, ownWaits, queue, last, step)
  local place = placeIn(queue, requester)
  if not place and requester ~= '' and #queue < MOST_WAITING then
    place = #queue + 1
    queue[place] = { name = requester }
  end
  local at = place and opens + (place - 1) * step or math.max(last + step, opens + #queue * step)
  at = math.min(at, now + LONGEST_WAIT_MS)
  -- A request behind the lane's own URLs must try again while the delay after the request for such a URL still runs.
  -- Once that delay has ended, the next URL would already be reserved.
  local isBehindOwn = isByTurn and place and (placeIn(queue, lane) or place) < place
  if --[[rule:a-permit-comes-while-the-delay-of-its-turn-runs]] isBehindOwn --[[end]] then at = at - step / 2 end
  if place then queue[place].at = at end
  if --[[rule:own-urls-have-a-place]] ownWaits and not placeIn(queue, lane) --[[end]] then
    queue[#queue + 1] = { name = lane, at = 0 }
  end
  -- A requester may have the same name as the lane. Its place then must not make a lane without URLs due.
  local own = --[[rule:a-request-makes-no-empty-lane-due]] ownWaits --[[end]] and placeIn(queue, lane)
  if own then
    local lease = leaseOf(lane)
    queue[own].at = opens + (own - 1) * step
    if not lease then
      local memory = changeMemory(lane)
      memory[MEMORY.ownDue], memory[MEMORY.heldBy] = '', GATE.paceGroup
      makeDue(lane, ownDue, queue[own].at, GATE.paceGroup)
    elseif isSecondary(lease[LEASE.kind]) then
      lease[LEASE.turnsAhead] = own - 1
      setLease(lane, lease)
    end
  end
  keepQueue(lane, queue, math.max(last, at))
  return at
end

-- Removes a request that has got `lane` from the queues of all other lanes that it could have used.
local function leaveOtherQueues(lanes, lane, requester, step)
  if requester == '' then return end
  for k = 1, #lanes do
    local other = lanes[k]
    if other ~= lane and queueRead[other] and string.find(queueRead[other], ' ' .. requester, 1, true) then
      local rest, latest = queueOf(other, requester, true, step)
      local place = placeIn(rest, requester)
      if place then table.remove(rest, place) end
      keepQueue(other, rest, latest)
    end
  end
end
