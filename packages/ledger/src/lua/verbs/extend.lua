--- @include "lib/held"
--[[
  extend: the leases of a permit, or of an order that a worker of a pool holds, last leaseMs longer, counted from now; with leaseMs 0 they stay
  as they are.
  ARGV    ARGS.extend in calls.ts, then per lane that the holder has CONFIRM_ITEM
  Returns EXTENDED: 'stale'; or 'extended', the gate because of which no more requests are wanted, else '', and how long the leases last
          from now, ms
  Keeps   all of its leases or none.
]]
if inDoubt then return inDoubt end
if not areHeld(LIFE.extend) then return reply('stale', '', '0') end

local function gateOf(n)
  local lane, lease = heldLanes[n], leaseOf(heldLanes[n])
  local kind, o, origin = lease[LEASE.kind], factsOf(lane), originOf(lane)
  if kind == KIND.page then return (GATES.pageUnderWay(origin, o, versionOf(o), judgedBy(n), lease[LEASE.fence], lease[LEASE.list])) end
  if kind == KIND.permit then return (GATES.permitUnderWay(origin, o, versionOf(o), judgedBy(n), lease[LEASE.fence], '')) end
  if kind == KIND.host then return (GATES.hostUnderWay(origin, o, versionOf(o), '', lease[LEASE.fence], '')) end
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
