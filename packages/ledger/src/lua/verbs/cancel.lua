--- @include "lib/lease"
--- @include "lib/leaving"
--[[
  cancel: ends one URL that is pending, with its outcome.
  ARGV    ARGS.cancel in calls.ts: the lane, the list that the URL is in, the URL as the list holds it; then its item of LEAVING
  Returns 'cancelled', 'in-flight' (the lane's lease has been started for this URL), or 'absent' (it is not in that list, or not any more)
  Keeps   a reservation of this list ends: the gateway that made it drops URLs by their number, so none may leave in between. Its
          order is refused a lease, and the lane is due again when it would have been. What is in flight has its outcome anyway.
]]
if inDoubt then return inDoubt end
local lane, list, url = ARGV[ARG.lane], ARGV[ARG.list], ARGV[ARG.url]
local lease, head = leaseOf(lane), nil
if list == LIST.high then head = call('LINDEX', highList(lane), 0) else head = firstOf(lane) end
local isLeased = lease and lease[LEASE.list] == list
if head == url then
  if isLeased and isStarted(lease) then return reply('in-flight') end
  leave(ARG.items, ARG.items)
  dropFirst(lane, list, 1)
elseif call('LREM', list == LIST.high and highList(lane) or normalList(lane), 1, url) == 1 then
  leave(ARG.items, ARG.items)
  left = left + 1
else return reply('absent') end
if isLeased and not isStarted(lease) then
  endLease(lane, lease[LEASE.kind])
  giveBack(lane, lease[LEASE.notBefore])
end
flush()
return reply('cancelled')
