--- @include "lib/lease"
--- @include "lib/leaving"
--[[
  cancel: ends pending URLs in one list of a lane, each with its outcome.
  ARGV    ARGS.cancel in calls.ts: the lane and the list; then per URL CANCEL_ITEM: the URL as the list holds it, and
          its item of LEAVING
  Returns per URL 'cancelled', 'in-flight' (the lane's lease has been started for this URL), or 'absent' (the URL is
          not, or no longer, in that list)
  Keeps   a reservation of this list ends. The gateway that made the reservation drops the first URLs of the list by
          their number, which is wrong once a cancelled URL has left. The order of that gateway is refused a lease, and
          the lane is due again at its previous time. A URL in flight gets an outcome when its exchange ends.
]]
if inDoubt then return inDoubt end
local lane, list = ARGV[ARG.lane], ARGV[ARG.list]
needLane(lane)
local lease = leaseOf(lane)
local isLeased = lease and lease[LEASE.list] == list and not isSecondary(lease[LEASE.kind])

local function cancelOne(k)
  local url = ARGV[k + CANCEL_ITEM.url]
  if withoutAttempts(firstIn(lane, list)) == withoutAttempts(url) then
    if --[[rule:what-is-in-flight-is-not-cancelled]] isLeased and isStarted(lease) --[[end]] then return 'in-flight' end
    leave(k + CANCEL_ITEM.json, k + CANCEL_ITEM.json, list)
    dropFirst(lane, list, 1)
  elseif call('LREM', listKey(list, lane), 1, url) == 1 then
    leave(k + CANCEL_ITEM.json, k + CANCEL_ITEM.json, list)
    left = left + 1
    if #list > 1 then call('HINCRBY', crawlKey(crawlOf(list)), CRAWL.left, 1) end
  else return 'absent' end
  return 'cancelled'
end

local out, hasLeft = reply(), false
for k = ARG.items, #ARGV, CANCEL_ITEM.size do
  out[#out + 1] = cancelOne(k)
  hasLeft = hasLeft or out[#out] == 'cancelled'
end
if --[[rule:a-cancel-ends-the-reservation]] hasLeft and isLeased and not isStarted(lease) --[[end]] then
  endLease(lane, lease[LEASE.kind])
  makeDue(lane, lease[LEASE.notBefore])
elseif hasLeft then
  local expires = firstExpiry(lane)
  if expires then capAtExpiry(lane, expires) end
end
flush()
return out
