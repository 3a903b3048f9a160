--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/owed"
--- @include "lib/back-off"
--[[
  restore: writes ends of exchanges again that a process has reported within the last `holdMs`, because Redis may have
  lost them.
  ARGV    ARGS.restore in calls.ts, then per lane RESTORE_ITEM: endedAt, an instant of the ledger; delayMs, the delay
          owed at least; load, as in an item of complete
  Returns nothing
  Keeps   no lane opens earlier than before the call. A lane with a request in flight is left alone: that request owes a
          delay of its own when its lease ends. A repeated call changes nothing, except that a first failure after good
          answers may count twice.
]]
if inDoubt then return inDoubt end
local NO_FENCE = '0' -- the fence of an unknown lease, older than any change: the recorded facts about the origin count
local function close(lane, opens)
  local lease = leaseOf(lane)
  if lease then
    if isStarted(lease) then return end
    if --[[rule:a-restored-end-lowers-no-reservation]] lease[LEASE.notBefore] >= opens --[[end]] then return end
    lease[LEASE.notBefore], lease[LEASE.version] = opens, ''
    return setLease(lane, lease)
  end
  local due, ownDue = tonumber(call('ZSCORE', DUE, lane) or '0'), tonumber(memoryOf(lane)[MEMORY.ownDue])
  local isLonger = --[[rule:a-restored-end-counts-behind-a-gate]] ownDue and ownDue < opens --[[end]]
  if isLonger then changeMemory(lane)[MEMORY.ownDue] = ms(opens) end
  if --[[rule:a-restored-end-lowers-no-due-time]] due < opens --[[end]] then setDue(lane, opens) end
end
for i = ARG.items, #ARGV, RESTORE_ITEM.size do
  local lane, load = ARGV[i + RESTORE_ITEM.lane], ARGV[i + RESTORE_ITEM.load]
  local ended, reported = tonumber(ARGV[i + RESTORE_ITEM.endedAt]), tonumber(ARGV[i + RESTORE_ITEM.delayMs])
  local owed = owedAfter(lane, KIND.page, NO_FENCE, '', reported, 0)
  local known = endedOf(lane)
  local isLater = --[[rule:the-latest-end-is-remembered]] not known or known < ended --[[end]]
  local isOwed = --[[rule:a-restored-end-is-owed]] ended + owed > now --[[end]]
  -- No end is stored for a lane without running delay, stored end, lease or URLs: nothing would ever delete that end.
  local isInUse = isOwed or known or leaseOf(lane) or hasWork(lane)
  if isLater and isInUse then setEnded(lane, ended, owed, '') end
  if isOwed then close(lane, ended + owed) end
  if --[[rule:a-restored-load-closes-the-site]] load ~= 'normal' --[[end]] then backOff(lane, load, ended, ended) end
end
flush()
return reply()
