--- @include "lib/writes"
--[[
  lease: the record of a lease in {tag}:leases. It is an array whose places are LEASE in layout.ts; in Redis it is packed, because
  taking so many fields of text apart costs more than reading them. A lease begins as a reservation: `startedAt` is 0.
]]
local leases = {} -- lane → its lease, false when there is none, nil when it was not read
local leasesTouched, secondaryEnded = {}, {}

local function keepLease(lane, record)
  leases[lane] = record and { struct.unpack(LEASE.format, record) }
end
local function readLeases(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', LEASES, unpack(lanes))
  for i = 1, #lanes do keepLease(lanes[i], found[i]) end
end
-- The lease of a lane, false when there is none. After a change to it, `touchLease`.
local function leaseOf(lane)
  if leases[lane] == nil then keepLease(lane, call('HGET', LEASES, lane)) end
  return leases[lane]
end
local function touchLease(lane) leasesTouched[#leasesTouched + 1] = lane end
local function isStarted(lease) return lease[LEASE.startedAt] > 0 end
local function isSecondary(kind) return kind == KIND.hop or kind == KIND.paceGroup end

local function newLease(lane, fence, list, notBefore)
  local lease = { LEASE.none }
  lease[LEASE.fence], lease[LEASE.list], lease[LEASE.notBefore] = fence, list, notBefore
  leases[lane] = lease
  touchLease(lane)
  return lease
end
local function endLease(lane, kind)
  leases[lane] = false
  touchLease(lane)
  if isSecondary(kind) then secondaryEnded[#secondaryEnded + 1] = lane end
end

-- The silence that a lease owes after its request: the delay it was started with, or a longer one demanded since.
local function owedBy(lease) return math.max(lease[LEASE.delayMs], lease[LEASE.leastDelayMs]) end

local function leaseRecord(lane)
  local lease = leases[lane]
  return lease and struct.pack(LEASE.format, unpack(lease, 1, LEASE.size))
end
flushes[#flushes + 1] = function()
  local ended = writeAll(LEASES, leasesTouched, leaseRecord)
  if #ended > 0 then call('ZREM', INFLIGHT, unpack(ended)) end
  if #secondaryEnded > 0 then call('ZREM', SECONDARY, unpack(secondaryEnded)) end
end

-- A lease was started or acquired: if a restart was announced because all leases had ended, that does not hold any more.
local function granted()
  --[[rule:a-grant-ends-the-announcement]] if restartAnnounced then call('HDEL', KEYS[1], EPOCH.restartAnnounced) end --[[end]]
end
local function lastFence() return tonumber(call('HGET', KEYS[1], EPOCH.fence) or '0') end
