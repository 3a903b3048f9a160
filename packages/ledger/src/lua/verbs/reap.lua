--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--[[
  reap: ends expired leases, at most 200 a call, and moves redirect targets that have waited long enough to the outbox.
  ARGV    ARGS.reap in calls.ts. quarantineMs is added to the delay after a lease that was started: its holder may still
          be sending.
  Returns how many started leases ended, how many reservations ended, '1' if more leases or targets may be left, then
          REAPED_FETCH in calls.ts for each robots fetch whose fetcher is gone
  Keeps   the URL of an ended lease stays first in its lane. A started lease of a page counts as an attempt, a
          reservation does not.
]]
local BATCH = 200
local FORGOTTEN_MS = 3600000 -- a queue is deleted this long after the latest instant that any of its requests got
local quarantine = tonumber(ARGV[ARG.quarantineMs])
local index = --[[rule:every-lease-ends]] INFLIGHT --[[end]]
local found = call('ZRANGE', index, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, BATCH)
local startedCount, reservedCount = 0, 0
local fetches = {}
readLeases(found)
readLanes(found)

-- Ends a lease that was started: its request may have been sent, or may still be sent.
local function endStarted(lane, lease)
  local kind, owed = lease[LEASE.kind], owedBy(lane, lease)
  local ended = now + --[[rule:reap-adds-the-quarantine]] quarantine --[[end]]
  setEnded(lane, ended, owed, lease[LEASE.of])
  setDue(lane, ended + owed)
  if --[[rule:a-dead-request-counts-an-attempt]] kind == KIND.page or kind == KIND.robotsPage --[[end]] then
    countAttempt(lane, lease[LEASE.list])
  elseif --[[rule:robots-leases-alone-are-returned]] kind == KIND.robots --[[end]]
    and robotsFetchOf(originOf(lane)) == lease[LEASE.fence] then
    local at, _, _, state, version = #fetches, whetherOpen(lane)
    fetches[at + REAPED_FETCH.lane], fetches[at + REAPED_FETCH.fence] = lane, lease[LEASE.fence]
    fetches[at + REAPED_FETCH.version] = version or '0'
    fetches[at + REAPED_FETCH.state] = stateOf(state, factsOf(lane)[FACTS.stateEnds])
  end -- leases of other kinds are not returned: if such a lease was for a robots fetch, its `fetchUntil` passes
end

for i = 1, #found do
  local lane = found[i]
  local lease = leaseOf(lane)
  if lease and not (--[[rule:a-lease-outlasts-its-reservation]] lease[LEASE.ends] <= now --[[end]]) then
    indexLease(lane, ms(lease[LEASE.ends])) -- only the first check was due: the lease lasts longer
  else
    endLease(lane)
    if not lease then setDue(lane, now + quarantine) -- the lease was lost: its request may be in flight
    elseif isStarted(lease) then
      startedCount = startedCount + 1
      endStarted(lane, lease)
    else
      reservedCount = reservedCount + 1
      setDue(lane, --[[rule:a-reaped-reservation-keeps-its-due-time]] math.max(lease[LEASE.notBefore], now) --[[end]])
    end
  end
end
local dueTill = --[[rule:a-target-enters-when-it-is-due]] ms(now) --[[end]]
local waited = call('ZRANGE', TAG .. KEY.later, '-inf', dueTill, 'BYSCORE', 'LIMIT', 0, BATCH)
for i = 1, #waited do call('XADD', TAG .. KEY.outbox, '*', 'c', waited[i]) end
if #waited > 0 then call('ZREM', TAG .. KEY.later, unpack(waited)) end
call('ZREMRANGEBYSCORE', TAG .. KEY.changed, '-inf', string.format('%.0f', (now - CHANGES_KEPT_MS) * 1000))
-- Deletes queues that no request uses any more: each call checks twenty queues, chosen at random.
local queues = call('HRANDFIELD', QUEUES, 20, 'WITHVALUES')
for i = 1, #queues, 2 do
  if tonumber(string.match(queues[i + 1], '^[^|]*')) + FORGOTTEN_MS < now then call('HDEL', QUEUES, queues[i]) end
end
count('reaped', startedCount)
count('reaped-reserved', reservedCount)
flush()
local isMore = (#found >= BATCH or #waited >= BATCH) and '1' or ''
return reply(tostring(startedCount), tostring(reservedCount), isMore, unpack(fetches))
