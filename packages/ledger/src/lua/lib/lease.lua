--- @include "lib/owed"
--[[
  lease: the records in {tag}:leases. A lease is packed, because parsing its many fields as text would cost more than
  reading them from Redis. A lease begins as a reservation: its `startedAt` is 0.

  `leaseOf` returns a lease as an array with the places of LEASE in layout.ts; `setLease` writes a changed array. Verbs
  that read many leases use locals instead of an array: in their code, LEASE_FIELDS stands for the names of LEASE in
  order. `local LEASE_FIELDS = struct.unpack(LEASE.format, record)` reads a record into these locals, and
  `putLease(lane, struct.pack(LEASE.format, LEASE_FIELDS))` writes them back (measured: with arrays, start would take
  about 15 % and reserve about 10 % more of Redis's time).
]]
local leases = {} -- lane → its packed lease; false when there is none, nil if not yet read
local leasesTouched = {}
-- Gathered for `flush`. over: lanes whose lease has ended;  indexed: instant, lane, instant, lane, …, where reap
-- checks the lease of the lane at the instant;  slotless: lanes whose lease takes no slot of a fetcher.
local over, indexed, slotless = {}, {}, {}

local function readLeases(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', LEASES, unpack(lanes))
  for i = 1, #lanes do leases[lanes[i]] = found[i] end
end
-- The lease of a lane as an array, or false.
local function leaseOf(lane)
  if leases[lane] == nil then leases[lane] = call('HGET', LEASES, lane) end
  return leases[lane] and { struct.unpack(LEASE.format, leases[lane]) }
end
local function putLease(lane, record)
  leases[lane] = record
  leasesTouched[#leasesTouched + 1] = lane
end
local function setLease(lane, lease) putLease(lane, struct.pack(LEASE.format, unpack(lease, 1, LEASE.size))) end
-- When the latest request under a lease was sent. The exchange of that request cannot have ended earlier. A request
-- that still waits to be sent does not count.
local function latestSentAt(startedAt, requestAt)
  if requestAt <= startedAt then return startedAt end
  return --[[rule:an-exchange-ends-after-its-latest-request]] requestAt <= now --[[end]] and requestAt or startedAt
end
-- When an exchange ended, from the elapsed time that its sender reports and the instant at which its request was sent.
local function endedAt(elapsedMs, sentAt)
  local elapsed, most = tonumber(elapsedMs), now - sentAt
  return now - --[[rule:elapsed-time-is-bounded]] (elapsed < most and elapsed or most) --[[end]]
end
local function isStarted(lease) return lease[LEASE.startedAt] > 0 end
--- @life
-- Whether an event of the table in lease-life.ts may happen to a lease. may: a function such as LIFE.done;  named: the
-- fence that the caller gives for the lease
local function befalls(may, lease, named)
  return lease and may(lease[LEASE.fence], lease[LEASE.startedAt], lease[LEASE.kind], lease[LEASE.ends], named)
end
local SECONDARY_KINDS = { [KIND.hop] = true, [KIND.permit] = true, [KIND.host] = true, [KIND.paceGroup] = true }
local function isSecondary(kind) return SECONDARY_KINDS[kind] == true end
-- The kind of a lease of a pace lane: the lane of a host or of a pace group, which a request holds besides its own.
local function kindOfPaceLane(lane) return string.find(lane, ' http', 1, true) and KIND.host or KIND.paceGroup end
-- The list of the URL for which a lease was made; '' for a secondary lease, which is for no URL of its lane.
local function listOfRequest(lease) return isSecondary(lease[LEASE.kind]) and '' or lease[LEASE.list] end
local function endLease(lane)
  putLease(lane, false)
  over[#over + 1] = lane
end
-- Sets the instant `ends`, as text, at which reap checks a lease or a reservation.
local function indexLease(lane, ends)
  local n = #indexed
  indexed[n + 1], indexed[n + 2] = ends, lane
end

-- The delay that a lease owes if its holder never reports the end of the request: the delay at the grant of the
-- lease, or a longer delay that has been set since the grant.
local function owedBy(lane, lease)
  return owedAfter(lane, lease[LEASE.kind], lease[LEASE.fence], lease[LEASE.of], lease[LEASE.delayMs],
    lease[LEASE.leastDelayMs])
end

flushes[#flushes + 1] = function()
  writeAll(LEASES, leasesTouched, leases)
  if #over > 0 then
    call('ZREM', INFLIGHT, unpack(over))
    call('SREM', SLOTLESS, unpack(over))
  end
  if #indexed > 0 then call('ZADD', INFLIGHT, unpack(indexed)) end
  if #slotless > 0 then call('SADD', SLOTLESS, unpack(slotless)) end
end

-- Records that a lease was started or acquired. An announcement that all leases have ended is thereby void.
local function granted()
  if --[[rule:a-grant-ends-the-announcement]] restartAnnounced --[[end]] then
    call('HDEL', KEYS[1], EPOCH.restartAnnounced)
  end
end
local function lastFence() return tonumber(call('HGET', KEYS[1], EPOCH.fence) or '0') end
