--- @include "lib/held"
--[[
  extend: extends the leases of a permit, or of an order that a worker of a pool holds, to leaseMs from now; with
  leaseMs 0 the leases stay unchanged.
  ARGV    ARGS.extend in calls.ts, then CONFIRM_ITEM for each lane of the holder
  Returns EXTENDED: 'stale'; or 'extended', the gate that allows no more requests, else '', and how long the leases last
          from now, ms
  Keeps   all leases of the holder are extended, or none.
]]
if inDoubt then return inDoubt end
if not areHeld(LIFE.extend) then return reply('stale', '', '0') end

local MAY_GO_ON = {
  [KIND.page] = GATES.pageUnderWay, [KIND.permit] = GATES.permitUnderWay, [KIND.host] = GATES.hostUnderWay,
}
local function gateOf(n)
  local lane, lease = heldLanes[n], leaseOf(heldLanes[n])
  local mayGoOn, o = MAY_GO_ON[lease[LEASE.kind]], factsOf(lane)
  if not mayGoOn then return nil end
  return (mayGoOn(lane, o, versionOf(o), judgedBy(n), lease[LEASE.fence], listOfRequest(lease)))
end
local gate
for n = 1, #heldLanes do gate = gate or gateOf(n) end

local longer, left = tonumber(ARGV[ARG.leaseMs]), math.huge
for n = 1, #heldLanes do
  local lane, lease = heldLanes[n], leaseOf(heldLanes[n])
  if longer > 0 then
    --[[rule:an-extended-lease-lasts]] lease[LEASE.ends] = now + longer --[[end]]
    setLease(lane, lease)
    indexLease(lane, ms(now + longer))
  end
  left = math.min(left, lease[LEASE.ends] - now)
end
flush()
return reply('extended', gate or '', ms(left))
