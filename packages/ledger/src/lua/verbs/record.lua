--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--- @include "lib/back-off"
--- @include "lib/longer"
--- @include "lib/body-budget"
--[[
  record: records the end of a robots fetch. If the fetch brought an answer, the robots state of the origin is written,
  and the lease of the lane that fetched ends. If it brought none (nothing was sent, or a page or a hop whose URL is a
  robots.txt has ended), the state stays. In both cases the lanes of the origin are woken.
  ARGV    ARGS.record in calls.ts, then per agent DELAY_ITEM:
          lane      the lane whose lease ends, '' for none
          state     the new robots state (state-text.ts), '' when the present one stays; lifeMs: how long it is kept
          unclaimedMs  how long state and bodies are kept if no URL of the origin is stored and no permit for it is
                    held; '0': the full time. unclaimedBy: the token for which the fetch was made
          hashes    of the bodies that the state needs, the latest first, separated by blanks
          body      the first of these (stored-body.ts), '' when it is already stored
          delayMs, elapsedMs   the delay owed by the lane, and the part of it that has passed
          load      'normal', or the text that back-off.lua describes: a site that asks for less is left alone, whatever
                    its answer means for the rules
          domain    registrable domain of the origin; domainBytes, allBytes, beyondLifeMs: body-budget.lua
          DELAY_ITEM: agent; delayMs, '' when the agent's recorded delay stays; clampedFrom, the crawl-delay in seconds
          as the site wrote it, if it was clamped, else ''
  Returns 'completed', 'stale', or 'full': there is no room for the body, and nothing was changed
  Keeps   a longer delay counts at once, also for delays that run; waking never lowers a lane's own due time. The lane
          that fetched owes the longest delay known. A state ends no later than the bodies that it needs.
]]
if inDoubt then return inDoubt end
local lane, fence, origin = ARGV[ARG.lane], ARGV[ARG.fence], ARGV[ARG.origin]
local key = originKey(origin)

-- Whether the caller holds the robots fetch in flight: only the fence under which the fetch was started can end it.
local function isOwn()
  if robotsFetchOf(origin) ~= --[[rule:record-minds-the-fence]] fence --[[end]] then return false end
  if lane == '' then return true end
  return befalls(LIFE.record, leaseOf(lane), fence)
end
if not isOwn() then
  count('stale-record', 1)
  flush()
  return reply('stale')
end

-- Whether any agent has URLs of the origin or a permit for it, or had one when the present robots state was written.
local function isClaimed()
  local known, ends = unpack(call('HMGET', key, FIELD.robotsState, FIELD.robotsStateEnds))
  if known and not ends then return true end
  if lane ~= '' and hasWork(lane) then return true end
  for i = ARG.items, #ARGV, DELAY_ITEM.size do
    local one = ARGV[i + DELAY_ITEM.agent] .. ' ' .. origin
    local lease = leaseOf(one)
    if hasWork(one) or (lease and lease[LEASE.kind] == KIND.permit) then return true end
  end
  return false
end

local isRecorded = ARGV[ARG.state] ~= ''
if isRecorded then
  local unclaimedMs = tonumber(ARGV[ARG.unclaimedMs])
  local isShort = unclaimedMs > 0 and not isClaimed()
  local most = isShort and unclaimedMs or longest
  -- The key has only the two fields of the robots fetch in flight, so it may expire with the facts recorded now.
  local isNew = isShort and call('HLEN', key) == 2
  local life, body = most, ARGV[ARG.body]
  for hash in string.gmatch(ARGV[ARG.hashes], '%S+') do
    local lives = keepBody(hash, body, most)
    if not lives then return reply('full') end
    life, body = math.min(life, lives), ''
  end
  call('HSET', key, FIELD.robotsState, ARGV[ARG.state])
  call('HINCRBY', key, FIELD.version, 1)
  if isNew or call('PTTL', key) <= life then call('PEXPIRE', key, string.format('%d', life)) end
  -- For an unclaimed origin the end of the state is stored even if the key expires at that instant: if a permit
  -- follows, keep.lua reads this end.
  if life <= short or isShort or call('PTTL', key) > life then call('HSET', key, FIELD.robotsStateEnds, ms(now + life))
  else call('HDEL', key, FIELD.robotsStateEnds) end
end
call('HDEL', key, FIELD.fetchFence, FIELD.fetchUntil)
if isRecorded then indexOpened('robots-unreachable', origin) end

local before = {} -- agent → the delay that was recorded before this answer, ms, '' for none
for i = ARG.items, #ARGV, DELAY_ITEM.size do
  local agent, delayMs = ARGV[i + DELAY_ITEM.agent], ARGV[i + DELAY_ITEM.delayMs]
  local clampedFrom = ARGV[i + DELAY_ITEM.clampedFrom]
  before[agent] = call('HGET', key, FIELD.delayOf .. agent) or ''
  if delayMs ~= '' then
    call('HSET', key, FIELD.delayOf .. agent, delayMs)
    if clampedFrom ~= '' then
      call('HSET', key, FIELD.clampedOf .. agent, clampedFrom)
      count('clamped', 1)
    else call('HDEL', key, FIELD.clampedOf .. agent) end
  end
end
markChanged(origin)
if isRecorded then settleGates(origin) end

if lane ~= '' then
  local lease, agent = leaseOf(lane), agentOf(lane)
  local sentAt = latestSentAt(lease[LEASE.startedAt], lease[LEASE.requestAt])
  local ended = endedAt(ARGV[ARG.elapsedMs], sentAt)
  endLease(lane)
  -- The request that fetched the rules owes the delay in these rules, and no less than the delay recorded before.
  local reported = math.max(tonumber(ARGV[ARG.delayMs]),
    --[[rule:the-robots-fetch-owes-the-delay-before-it]] tonumber(before[agent] ~= '' and before[agent] or 0) --[[end]])
  local owed = owedAfter(lane, KIND.robots, lease[LEASE.fence], '', reported, lease[LEASE.leastDelayMs])
  setEnded(lane, ended, owed, '')
  setDue(lane, --[[rule:the-robots-fetch-owes-the-new-delay]] ended + owed --[[end]])
  if ARGV[ARG.load] ~= 'normal' then backOff(lane, ARGV[ARG.load], sentAt, ended) end
end

-- Makes a lane of the origin due at its own time if a gate held the lane, and due later if its delay has become longer.
local function wake(other)
  local due = call('ZSCORE', DUE, other)
  if --[[rule:every-robots-fetch-wakes]] due --[[end]] then
    local ownDue = memoryOf(other)[MEMORY.ownDue]
    if ownDue ~= '' then changeMemory(other)[MEMORY.ownDue] = '' end
    local own = --[[rule:waking-keeps-the-due-time]] tonumber(ownDue ~= '' and ownDue or due) --[[end]]
    local opens = lengthened(other, own)
    if ownDue ~= '' or opens > own then setDue(other, opens) end
    return
  end
  local lease = leaseOf(other)
  if lease and not isStarted(lease) then
    local notBefore = lease[LEASE.notBefore]
    lease[LEASE.notBefore] = --[[rule:a-longer-delay-counts-for-reservations]] lengthened(other, notBefore) --[[end]]
    lease[LEASE.version] = ''
    setLease(other, lease)
  end
end
for i = ARG.items, #ARGV, DELAY_ITEM.size do
  local other = ARGV[i + DELAY_ITEM.agent] .. ' ' .. origin
  if other ~= lane then wake(other) end
end
if isRecorded then lengthenHostLanes(origin, DELAY_ITEM.size) end
flush()
return reply('completed')
