--- @include "lib/lease"
--- @include "lib/leaving"
--- @include "lib/origin"
--[[
  resolve: ends or keeps a lease under which no exchange took place, and writes outcomes of URLs that leave without one.
  ARGV    per lane RESOLUTION in calls.ts, then its items of LEAVING. `next` is
          keep      the reservation goes on: an order for a fetcher follows
          pool      the reservation goes on: an order for a worker of a pool follows, which takes no slot of a fetcher
          release   ends a reservation, or a secondary lease that was not used: the lane is due at its own time
          unused    ends a started lease under which nothing was sent. The origin has seen a connection, so the lane is
                    due again no sooner than after a request. No attempt is counted.
          defer     ends a reservation, and `gate` holds the lane until `till`. The gates `share` and `pool` may hold
                    only the crawl of the reserved URL: if the lane also has URLs of other crawls, the lane is due soon,
                    so that these crawls have their turns
  Returns per lane 'completed' or 'stale'
  Keeps   a lease that is not the caller's, or is not in the required state (lease-life.ts), changes nothing, and the
          call is counted as stale.
]]
if inDoubt then return inDoubt end
local lanes, starts = {}, {}
local i = ARG.items
while i <= #ARGV do
  lanes[#lanes + 1], starts[#starts + 1] = ARGV[i + RESOLUTION.lane], i
  i = i + RESOLUTION.size + tonumber(ARGV[i + RESOLUTION.leaving]) * LEAVING.size
end
readLeases(lanes)
readLanes(lanes)

local MAY = { keep = LIFE.keep, pool = LIFE.pool, release = LIFE.release, unused = LIFE.unused, defer = LIFE.defer }

local OF_ONE_CRAWL = { [GATE.share] = true, [GATE.pool] = true }
local MOST_READ, SOON_MS, LATER = 20, 100, 0.1
-- When a lane is due again after the turn of one of its crawls has ended without a request. That crawl moves behind the
-- lane's other crawls, whose turns come soon. If the previous turn also ended without a request, all crawls of the lane
-- may be held: then the lane is read again after a share (LATER) of the time until `till`.
local function tillNextTurn(lane, crawl, till, gate)
  local turns = call('ZRANGE', TAG .. KEY.turns .. lane, 0, MOST_READ - 1, 'WITHSCORES')
  local last
  for i = 1, #turns, 2 do last = turns[i] ~= crawl and tonumber(turns[i + 1]) or last end
  if --[[rule:a-crawl-without-a-slot-holds-no-other]] not last --[[end]] then return till end
  local key, turn = TAG .. KEY.turns .. lane, last + 1 / tonumber(call('HGET', crawlKey(crawl), CRAWL.weight) or '1')
  --[[rule:a-crawl-without-a-slot-saves-no-turns]] call('ZADD', key, 'XX', 'GT', turn, crawl) --[[end]]
  local before = memoryOf(lane)[MEMORY.heldBy]
  local isAgain = --[[rule:a-lane-that-is-held-again-is-looked-at-later]] before == gate --[[end]]
  return math.min(till, now + math.max(SOON_MS, isAgain and (till - now) * LATER or 0))
end

local function defer(lane, lease, till, gate)
  local notBefore = lease[LEASE.notBefore]
  -- If the robots fetch has ended since the reservation, its end woke the lanes of the origin, but not a reserved lane.
  local isOfFetch = gate == GATE.robotsInFlight
  local isWoken = isOfFetch and not robotsFetchOf(originOf(lane))
  -- If a gate may have opened or closed since the reservation, the lane is due and judged again.
  local isOld = not isOfFetch and hasChanged(lane, lease[LEASE.fence])
  if --[[rule:a-robots-fetch-that-ended-holds-no-lane]] isWoken --[[end]]
    or --[[rule:a-change-since-the-reservation-is-judged-anew]] isOld --[[end]] then
    makeDue(lane, notBefore)
    return
  end
  if OF_ONE_CRAWL[gate] and memoryOf(lane)[MEMORY.hasHigh] == OTHERS.crawls then
    till = tillNextTurn(lane, crawlOf(lease[LEASE.list]), till, gate)
  end
  makeDue(lane, notBefore, till, gate)
end
-- Nothing was sent, but the origin has seen a connection: the lane is due no sooner than after a request.
local function endUnused(lane, lease)
  local owed = owedBy(lane, lease)
  setEnded(lane, now, owed, lease[LEASE.of])
  makeDue(lane, --[[rule:an-unused-lease-owes-its-delay]] math.max(lease[LEASE.notBefore], now + owed) --[[end]])
end

local out = reply()
local stale = 0
for n = 1, #lanes do
  local lane, i = lanes[n], starts[n]
  local next, lease = ARGV[i + RESOLUTION.next], leaseOf(lane)
  if not befalls(MAY[next], lease, ARGV[i + RESOLUTION.fence]) then
    stale = stale + 1
    out[#out + 1] = 'stale'
  else
    out[#out + 1] = 'completed'
    local notBefore = lease[LEASE.notBefore]
    local first = i + RESOLUTION.size
    local urls = leave(first, first + tonumber(ARGV[i + RESOLUTION.leaving]) * LEAVING.size - 1, lease[LEASE.list])
    if urls > 0 then dropFirst(lane, lease[LEASE.list], urls) end
    if --[[rule:an-order-of-a-pool-takes-no-slot]] next == 'pool' --[[end]] then slotless[#slotless + 1] = lane
    elseif next == 'release' then
      endLease(lane)
      makeDue(lane, --[[rule:a-released-lane-keeps-its-due-time]] notBefore --[[end]])
    elseif next == 'unused' then
      endLease(lane)
      endUnused(lane, lease)
    elseif next == 'defer' then
      endLease(lane)
      defer(lane, lease, tonumber(ARGV[i + RESOLUTION.till]), ARGV[i + RESOLUTION.gate])
    end
  end
end
count('stale-complete', stale)
flush()
return out
