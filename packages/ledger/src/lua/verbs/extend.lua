--- @include "lib/lease"
--- @include "lib/origin"
--[[
  extend: the leases of a permit, or of an order that a worker of a pool holds, last so much longer, counted from now.
  ARGV    ARGS.extend in calls.ts, then per lane that the permit holds EXTEND_ITEM
  Returns EXTENDED: 'extended' or 'stale'; gate is stopped, visiting-hours, blocked, paused or back-off where no more requests are wanted, else ''
  Keeps   all of its leases or none. A lease that is over is not brought back, whether or not it has been reaped.
]]
if inDoubt then return inDoubt end
local ends = now + tonumber(ARGV[ARG.leaseMs])
local lanes = {}
for i = ARG.items, #ARGV, EXTEND_ITEM.size do lanes[#lanes + 1] = ARGV[i + EXTEND_ITEM.lane] end
readLeases(lanes)
local found = call('ZMSCORE', SECONDARY, unpack(lanes))

local function isHeld(n)
  local lease = leaseOf(lanes[n])
  if not lease or not isStarted(lease) then return false end
  local known = isSecondary(lease[LEASE.kind]) and found[n] or lease[LEASE.ends]
  return --[[rule:extend-minds-the-fence]] lease[LEASE.fence] == ARGV[ARG.items + (n - 1) * EXTEND_ITEM.size + EXTEND_ITEM.fence] --[[end]]
    and --[[rule:an-ended-lease-is-not-extended]] tonumber(known) > now --[[end]]
end
-- The gate because of which no more requests may be made. A pace lane may belong to another origin, whose gates do not count.
local function gateOf(lane)
  if leaseOf(lane)[LEASE.kind] == KIND.paceGroup then return '' end
  local held, gate = heldUntil(originOf(lane), true)
  if --[[rule:extend-answers-a-stop]] held > now --[[end]] then return gate end
  local blockedUntil, pausedUntil, backOffUntil = unpack(call('HMGET', originKey(originOf(lane)), FIELD.blockedUntil,
    FIELD.pausedUntil, FIELD.backOffUntil))
  return isAhead(blockedUntil) and 'blocked' or isAhead(pausedUntil) and GATE.paused
    or isAhead(backOffUntil) and GATE.backOff or ''
end

local gate = ''
for n = 1, #lanes do
  if not isHeld(n) then return reply('stale', '') end
  if gate == '' then gate = gateOf(lanes[n]) end
end
local secondary, own = {}, {}
for n = 1, #lanes do
  local lease = leaseOf(lanes[n])
  local writes = isSecondary(lease[LEASE.kind]) and secondary or own
  writes[#writes + 1] = ms(ends); writes[#writes + 1] = lanes[n]
  if writes == own then
    lease[LEASE.ends] = ends
    setLease(lanes[n], lease)
  end
end
if #secondary > 0 then --[[rule:an-extended-lease-lasts]] call('ZADD', SECONDARY, unpack(secondary)) --[[end]] end
if #own > 0 then call('ZADD', INFLIGHT, unpack(own)) end
flush()
return reply('extended', gate)
