--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--- @include "lib/notes"
--- @include "lib/closed-index"
--- @include "lib/longer"
--- @include "lib/waking"
--[[
  operate: carries out an operator's action on one origin, and records the action in {tag}:operations (the last 10,000).
  ARGV    ARGS.operate in calls.ts, then agents: the action takes effect at once in their lanes of the origin. `till` is
          an instant of the ledger, within the bounds of operate.ts. Actions:
          pause    nothing is started at the host before `till`           resume    ends it; pauses of other ports stay
          block    URLs end as refused until `till`                       unblock   ends it
          delay    at least `value` ms until `till`; it never shortens the delay of the rules, and may exceed the
                   maximum
          refetch  the robots.txt is fetched again before any other request
          drop     only records the action: drop-pending.ts has already ended the URLs
  Returns 'done'
  Keeps   a longer delay counts at once, also for delays that run; no lane is woken before its own due time.
]]
local origin, action, value = ARGV[ARG.origin], ARGV[ARG.action], ARGV[ARG.value]
local till, reason = tonumber(ARGV[ARG.till]), ARGV[ARG.reason]
local key = originKey(origin)
local lasts = action == 'pause' or action == 'block' or action == 'delay'
local life = (lasts and math.ceil(math.max(till - now, 0)) or 0) + DAY_MS

local function wakeLane(lane)
  local due, ownDue = call('ZSCORE', DUE, lane), memoryOf(lane)[MEMORY.ownDue]
  if due and ownDue ~= '' then
    changeMemory(lane)[MEMORY.ownDue] = ''
    setDue(lane, --[[rule:resuming-keeps-the-due-time]] tonumber(ownDue) --[[end]])
  end
end
local function forLanes(act, ofOrigin)
  for i = ARG.items, #ARGV do act(ARGV[i] .. ' ' .. ofOrigin) end
end

-- A pause holds for every scheme and port of the host, so it is also written to the record of the host's `https:`
-- origin. If several origins of a host are paused, the longest of their pauses counts in that record.
local host = hostOriginOf(origin)
local function pauseHost(ends)
  if host == origin then return end
  local hostKey, pause, longest = originKey(host), FIELD.pauseOf .. origin, 0
  if ends > now then call('HSET', hostKey, pause, ms(ends)) else call('HDEL', hostKey, pause) end
  local fields = call('HGETALL', hostKey)
  for i = 1, #fields, 2 do
    local isPause = string.sub(fields[i], 1, #FIELD.pauseOf) == FIELD.pauseOf
    if isPause and tonumber(fields[i + 1]) <= now then call('HDEL', hostKey, fields[i]) end
    if isPause then longest = math.max(longest, tonumber(fields[i + 1])) end
  end
  if longest > now then call('HSET', hostKey, FIELD.hostPausedUntil, ms(longest))
  else call('HDEL', hostKey, FIELD.hostPausedUntil) end
end
if action == 'pause' then
  call('HSET', key, FIELD.pausedUntil, ms(till), FIELD.pauseReason, reason)
  --[[rule:a-pause-holds-for-the-host]] pauseHost(till) --[[end]]
  indexClosed(GATE.paused, origin, till)
elseif action == 'resume' then
  call('HDEL', key, FIELD.pausedUntil, FIELD.pauseReason)
  pauseHost(0)
  indexOpened(GATE.paused, origin)
elseif action == 'block' then
  call('HSET', key, FIELD.blockedUntil, ms(till), FIELD.blockReason, reason)
  indexClosed('blocked', origin, till)
elseif action == 'unblock' then
  call('HDEL', key, FIELD.blockedUntil, FIELD.blockReason)
  indexOpened('blocked', origin)
elseif action == 'delay' then
  call('HSET', key, FIELD.overrideDelay, value, FIELD.overrideUntil, ms(till), FIELD.overrideReason, reason)
elseif action == 'refetch' then
  call('HSET', key, FIELD.refetchVersion, versionOf(factsOf(' ' .. origin)))
end
--[[rule:an-operation-is-marked]] markChanged(origin) --[[end]]
if host ~= origin then markChanged(host) end
forLanes(wakeLane, origin)
-- A new pause also wakes lanes, because it may end sooner than the pause that it replaces.
if action == 'resume' or action == 'pause' then --[[rule:a-resume-wakes-the-host]] wakeHeld() --[[end]] end
if action == 'delay' then
  forLanes(lengthen, origin)
  lengthenHostLanes(origin, 1)
end
local left = call('PTTL', key)
if left < life then
  -- A longer life of the key must not prolong the robots state, which ends with its bodies.
  if call('HEXISTS', key, FIELD.robotsState) == 1 then call('HSETNX', key, FIELD.robotsStateEnds, ms(now + left)) end
  call('PEXPIRE', key, life)
end
call('XADD', TAG .. KEY.operations, 'MAXLEN', '~', 10000, '*', OPERATION.at, ms(now), OPERATION.by, ARGV[ARG.by],
  OPERATION.action, action, OPERATION.origin, origin, OPERATION.value, value, OPERATION.till, ms(till),
  OPERATION.reason, reason)
addNote(origin, cjson.encode({ at = math.floor(now), what = 'act', action = action, by = ARGV[ARG.by], reason = reason,
  value = value, ['until'] = math.floor(till) }))
boundNotes()
flush()
return reply('done')
