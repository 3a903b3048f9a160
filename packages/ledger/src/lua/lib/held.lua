--- @include "lib/lease"
--[[
  held: the leases that one holder names together, in one partition: of a request, or of a permit or an order.
  Items of ARGV are CONFIRM_ITEM.
]]
local heldLanes, heldAt = {}, {}
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  heldLanes[#heldLanes + 1], heldAt[#heldAt + 1] = ARGV[i + CONFIRM_ITEM.lane], i
end
readLeases(heldLanes)
local secondaryEnds = #heldLanes > 0 and call('ZMSCORE', SECONDARY, unpack(heldLanes)) or {}

-- Whether the caller still holds the n-th of them: a lease that is over is not brought back, reaped or not.
local function isHeld(n)
  local lease = leaseOf(heldLanes[n])
  if not lease or not isStarted(lease) then return false end
  local ends = isSecondary(lease[LEASE.kind]) and secondaryEnds[n] or lease[LEASE.ends]
  return --[[rule:a-holder-is-known-by-its-fence]] lease[LEASE.fence] == ARGV[heldAt[n] + CONFIRM_ITEM.fence] --[[end]]
    and --[[rule:an-ended-lease-is-not-held]] tonumber(ends) > now --[[end]]
end
local function areHeld()
  for n = 1, #heldLanes do
    if not isHeld(n) then return false end
  end
  return #heldLanes > 0
end
local function judgedBy(n) return ARGV[heldAt[n] + CONFIRM_ITEM.version] end
