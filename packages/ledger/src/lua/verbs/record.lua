--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--- @include "lib/body-budget"
--[[
  record: a robots fetch is over. With an answer, the origin's robots state is written and the lease of the lane that fetched ends.
  Without one (nothing was sent, or a page or a hop whose URL is a robots.txt has ended) the state stays. Wakes the origin's lanes.
  ARGV    ARGS.record in calls.ts, then per agent DELAY_ITEM:
          lane      whose lease ends by it, '' when none does
          state     state-text.ts, '' when it stays; lifeMs: how long it is kept
          hashes    of the bodies that it needs, the latest first, separated by blanks
          body      the first of these (stored-body.ts), '' when it is stored already
          delayMs, elapsedMs   owed by the lane, and how much of that has passed
          domain    registrable domain of the origin; domainBytes, allBytes, beyondLifeMs: body-budget.lua
          of an agent: its delay, '' when that stays; and clampedFrom, the seconds as written when they were clamped, else ''
  Returns 'completed', 'stale', or 'full': there is no room for the body, and nothing was changed
  Keeps   a longer delay counts at once, also for delays that run; waking never lowers a lane's own due time. The lane that fetched
          owes the longest delay known. A state ends no later than the bodies that it needs.
]]
if inDoubt then return inDoubt end
local lane, fence, origin = ARGV[ARG.lane], ARGV[ARG.fence], ARGV[ARG.origin]
local key = originKey(origin)

-- The robots fetch in flight ends only for the lane, or the caller, under whose fence it was started.
local function isOwn()
  if call('HGET', key, FIELD.fetchFence) ~= --[[rule:record-minds-the-fence]] fence --[[end]] then return false end
  if lane == '' then return true end
  local lease = leaseOf(lane)
  return lease and lease[LEASE.fence] == fence and --[[rule:robots-leases-alone-record]] lease[LEASE.kind] == KIND.robots --[[end]]
end
if not isOwn() then
  count('stale-record', 1)
  flush()
  return reply('stale')
end

local isRecorded = ARGV[ARG.state] ~= ''
if isRecorded then
  local life, body = longest, ARGV[ARG.body]
  for hash in string.gmatch(ARGV[ARG.hashes], '%S+') do
    local lives = keepBody(hash, body)
    if not lives then return reply('full') end
    life, body = math.min(life, lives), ''
  end
  call('HSET', key, FIELD.robotsState, ARGV[ARG.state])
  call('HINCRBY', key, FIELD.version, 1)
  if call('PTTL', key) <= life then
    call('PEXPIRE', key, string.format('%d', life))
    call('HDEL', key, FIELD.robotsStateEnds)
  else call('HSET', key, FIELD.robotsStateEnds, ms(now + life)) end
end
call('HDEL', key, FIELD.fetchFence, FIELD.fetchUntil)
if isRecorded then indexOpened('robots-unreachable', origin) end

-- Operations that are over are forgotten here; reserve takes a shortcut for an origin without a closed gate.
local function openGates()
  local backOffUntil, failures, pausedUntil, blockedUntil, overrideUntil, stateEnds, refetchVersion, version = unpack(call('HMGET',
    key, FIELD.backOffUntil, FIELD.failures, FIELD.pausedUntil, FIELD.blockedUntil, FIELD.overrideUntil, FIELD.robotsStateEnds,
    FIELD.refetchVersion, FIELD.version))
  local function forget(instant, ...)
    if not instant or tonumber(instant) > now then return instant end
    call('HDEL', key, ...)
  end
  pausedUntil = forget(pausedUntil, FIELD.pausedUntil, FIELD.pauseReason)
  blockedUntil = forget(blockedUntil, FIELD.blockedUntil, FIELD.blockReason)
  overrideUntil = forget(overrideUntil, FIELD.overrideDelay, FIELD.overrideUntil, FIELD.overrideReason)
  local isClosed = --[[rule:open-gates-are-all-open]] backOffUntil or failures or pausedUntil or blockedUntil or overrideUntil or stateEnds --[[end]]
  if not (isClosed or refetchVersion == (version or '0')) then call('HSET', key, FIELD.allOpen, '1') end
end
openGates()

if lane ~= '' then
  local lease, agent = leaseOf(lane), agentOf(lane)
  local ended = now - math.min(tonumber(ARGV[ARG.elapsedMs]), now - lease[LEASE.startedAt])
  endLease(lane)
  -- The request that brought the rules owes what they ask, and no less than what was known before it.
  local owed = --[[rule:an-override-binds-the-robots-fetch]] math.max(tonumber(ARGV[ARG.delayMs]), lease[LEASE.leastDelayMs]) --[[end]]
  owed = math.max(owed, --[[rule:the-robots-fetch-owes-the-known-delay]] tonumber(call('HGET', key, FIELD.delayOf .. agent) or '0') --[[end]],
    --[[rule:the-robots-fetch-owes-the-least-delay]] leastOf(lane, KIND.robots) --[[end]])
  for i = ARG.items, #ARGV, DELAY_ITEM.size do
    if ARGV[i + DELAY_ITEM.agent] == agent then owed = math.max(owed, tonumber(ARGV[i + DELAY_ITEM.delayMs]) or 0) end
  end
  setDue(lane, ended + --[[rule:the-robots-fetch-owes-the-new-delay]] owedWithConsent(lane, owed) --[[end]])
end

local function setDelay(agent, delayMs, clampedFrom)
  call('HSET', key, FIELD.delayOf .. agent, delayMs)
  if clampedFrom ~= '' then
    call('HSET', key, FIELD.clampedOf .. agent, clampedFrom)
    count('clamped', 1)
  else call('HDEL', key, FIELD.clampedOf .. agent) end
end

-- A lane of the origin: woken if it was deferred, and later by what its delay has grown.
local function wake(other, delay, longer)
  if owedWithConsent(other, delay) ~= delay then longer = 0 end -- the site has consented to a shorter one
  local due = call('ZSCORE', DUE, other)
  if --[[rule:every-robots-fetch-wakes]] due --[[end]] then
    local ownDue = memoryOf(other)[MEMORY.ownDue]
    if ownDue ~= '' then
      changeMemory(other)[MEMORY.ownDue] = ''
      setDue(other, --[[rule:waking-keeps-the-due-time]] tonumber(ownDue) + longer --[[end]])
    elseif longer > 0 and other ~= lane then
      setDue(other, tonumber(due) + --[[rule:a-longer-delay-counts-while-it-runs]] longer --[[end]])
    end
    return
  end
  local lease = other ~= lane and leaseOf(other)
  if not lease then return end
  if isStarted(lease) then
    -- In flight: what it will owe is longer. What an operator demanded stays.
    lease[LEASE.leastDelayMs] = --[[rule:rules-keep-the-override]] math.max(delay, lease[LEASE.leastDelayMs]) --[[end]]
    setLease(other, lease)
  elseif --[[rule:a-longer-delay-counts-for-reservations]] longer > 0 --[[end]] then
    lease[LEASE.notBefore], lease[LEASE.version] = lease[LEASE.notBefore] + longer, '' -- start will read the gates
    setLease(other, lease)
  end
end
for i = ARG.items, #ARGV, DELAY_ITEM.size do
  local agent, delayMs = ARGV[i + DELAY_ITEM.agent], ARGV[i + DELAY_ITEM.delayMs]
  local before = call('HGET', key, FIELD.delayOf .. agent)
  local delay = tonumber(delayMs ~= '' and delayMs or before or '0')
  if delayMs ~= '' then setDelay(agent, delayMs, ARGV[i + DELAY_ITEM.clampedFrom]) end
  wake(agent .. ' ' .. origin, delay, before and math.max(0, delay - tonumber(before)) or 0)
end
flush()
return reply('completed')
