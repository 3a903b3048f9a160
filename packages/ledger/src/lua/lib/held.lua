--- @include "lib/lease"
--[[
  held: the leases that the caller names as its own: those of one request, permit or order, all in one partition.
  Each item of ARGV is a CONFIRM_ITEM (calls.ts): a lane, and the fence of its lease.
]]
local heldLanes, heldAt = {}, {}
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  heldLanes[#heldLanes + 1], heldAt[#heldAt + 1] = ARGV[i + CONFIRM_ITEM.lane], i
end
readLeases(heldLanes)

-- Whether an event may happen to each of these leases: `may` is a function such as LIFE.extend. False if none is named.
local function areHeld(may)
  for n = 1, #heldLanes do
    if not befalls(may, leaseOf(heldLanes[n]), ARGV[heldAt[n] + CONFIRM_ITEM.fence]) then return false end
  end
  return #heldLanes > 0
end
local function judgedBy(n) return ARGV[heldAt[n] + CONFIRM_ITEM.version] end
