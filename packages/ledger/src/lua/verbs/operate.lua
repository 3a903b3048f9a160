--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--- @include "lib/notes"
--[[
  operate: what an operator does to one origin. Each operation is also written to {tag}:operations, which keeps the last 10,000.
  ARGV    ARGS.operate in calls.ts, then agents, whose lanes of the origin feel it at once. `till` is an instant of the ledger, which
          operate.ts has bounded. Actions:
          pause    nothing is started before `till`                       resume    ends it
          block    URLs end as refused until `till`                       unblock   ends it
          delay    a delay of `value` ms at least until `till`; it never shortens what the rules owe, and may exceed the maximum
          refetch  the robots.txt is fetched again before any other request
          drop     only the entry in operations: drop-pending.ts has done the rest
  Returns 'done'
  Keeps   a longer delay counts at once, also for delays that run; lanes are woken to their own due time, never before it.
]]
local origin, action, value, till, reason = ARGV[ARG.origin], ARGV[ARG.action], ARGV[ARG.value], tonumber(ARGV[ARG.till]), ARGV[ARG.reason]
local key = originKey(origin)
local lasts = action == 'pause' or action == 'block' or action == 'delay'
local life = (lasts and math.ceil(math.max(till - now, 0)) or 0) + DAY_MS

local function wakeLane(lane, longer)
  local due, ownDue = call('ZSCORE', DUE, lane), memoryOf(lane)[MEMORY.ownDue]
  if due and ownDue ~= '' then
    changeMemory(lane)[MEMORY.ownDue] = ''
    setDue(lane, --[[rule:resuming-keeps-the-due-time]] tonumber(ownDue) + longer --[[end]])
  elseif longer == 0 then return
  elseif due then
    setDue(lane, tonumber(due) + --[[rule:an-override-counts-while-a-delay-runs]] longer --[[end]])
  else
    local lease = leaseOf(lane)
    if not lease then return end
    if isStarted(lease) then lease[LEASE.leastDelayMs] = math.max(tonumber(value), lease[LEASE.leastDelayMs])
    else lease[LEASE.notBefore], lease[LEASE.version] = lease[LEASE.notBefore] + longer, '' end
    setLease(lane, lease)
  end
end
local function wakeLanes(longerOf)
  for i = ARG.items, #ARGV do wakeLane(ARGV[i] .. ' ' .. origin, longerOf and longerOf(ARGV[i]) or 0) end
end

if action == 'pause' then
  call('HSET', key, FIELD.pausedUntil, ms(till), FIELD.pauseReason, reason)
  indexClosed(GATE.paused, origin, till)
elseif action == 'resume' then
  call('HDEL', key, FIELD.pausedUntil, FIELD.pauseReason)
  indexOpened(GATE.paused, origin)
  wakeLanes()
elseif action == 'block' then
  call('HSET', key, FIELD.blockedUntil, ms(till), FIELD.blockReason, reason)
  indexClosed('blocked', origin, till)
  wakeLanes()
elseif action == 'unblock' then
  call('HDEL', key, FIELD.blockedUntil, FIELD.blockReason)
  indexOpened('blocked', origin)
elseif action == 'delay' then
  call('HSET', key, FIELD.overrideDelay, value, FIELD.overrideUntil, ms(till), FIELD.overrideReason, reason)
  wakeLanes(function(agent)
    return math.max(0, tonumber(value) - tonumber(call('HGET', key, FIELD.delayOf .. agent) or '0'))
  end)
elseif action == 'refetch' then
  call('HSET', key, FIELD.refetchVersion, call('HGET', key, FIELD.version) or '0')
  wakeLanes()
end
--[[rule:an-operation-is-marked]] markChanged(origin) --[[end]]
local left = call('PTTL', key)
if left < life then
  -- The robots state does not live longer by this: it ends with its bodies.
  if call('HEXISTS', key, FIELD.robotsState) == 1 then call('HSETNX', key, FIELD.robotsStateEnds, ms(now + left)) end
  call('PEXPIRE', key, life)
end
call('XADD', TAG .. KEY.operations, 'MAXLEN', '~', 10000, '*', OPERATION.at, ms(now), OPERATION.by, ARGV[ARG.by], OPERATION.action, action,
  OPERATION.origin, origin, OPERATION.value, value, OPERATION.till, ms(till), OPERATION.reason, reason)
addNote(origin, cjson.encode({ at = math.floor(now), what = 'act', action = action, by = ARGV[ARG.by], reason = reason, value = value,
  ['until'] = math.floor(till) }))
boundNotes()
flush()
return reply('done')
