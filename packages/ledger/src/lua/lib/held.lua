--- @include "lib/lease"
--[[
  held: the leases that one holder names together, in one partition: those of a request, a permit or an order.
  Items of ARGV are CONFIRM_ITEM.
]]
local heldLanes, heldAt = {}, {}
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  heldLanes[#heldLanes + 1], heldAt[#heldAt + 1] = ARGV[i + CONFIRM_ITEM.lane], i
end
readLeases(heldLanes)

-- Whether an event may happen to all of these leases.
local function areHeld(may)
  for n = 1, #heldLanes do
    if not befalls(may, leaseOf(heldLanes[n]), ARGV[heldAt[n] + CONFIRM_ITEM.fence]) then return false end
  end
  return #heldLanes > 0
end
local function judgedBy(n) return ARGV[heldAt[n] + CONFIRM_ITEM.version] end
