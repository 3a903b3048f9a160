--- @include "lib/clock"
--[[
  epoch: the first step of every call. An epoch is one life of a Redis: it ends when Redis restarts, forgets, or its
  clock leaps. When an epoch begins, nothing is granted until every request that may be on the wire has ended
  (`holdUntil`). A caller that knows another layout or another number of partitions is refused.
]]
-- How long nothing is granted in a ledger that is known to be new, ms. Any running process that remembers another epoch
-- makes a call within this time.
local FIRST_HOLD_MS = 1000
local epochId
local leastDelaysText -- EPOCH.leastDelays, read by owed.lua; false before any process has written least delays
local policiesText -- EPOCH.policies, read by gates/policies.lua; false before the first policy
local stopsText -- EPOCH.stops, read by gates/stops.lua; false before the first stop
local hasCrawls -- whether a crawl other than the default one exists, or the default crawl has a weight or a pause
-- lostAt: when Redis lost its latest writes;  lostUntil: when every request that was then in flight has ended. Both
-- are 0 if Redis has lost no writes.
local lostAt, lostUntil = 0, 0
local restartAnnounced -- whether every lease had ended before Redis was stopped, or Redis is known to be new

-- After Redis has lost its latest writes, continues the ledger's time from the time for which the caller vouches.
-- Fences are made from the time, so they rise whatever was lost. Nothing is granted for a while after the loss, so a
-- time that is slightly ahead does no harm.
local function raiseTime(vouched)
  if not vouched or vouched <= now + STEP_MS then return end
  --[[rule:time-goes-on-after-a-loss]] shift, now = shift + vouched - now, vouched --[[end]]
  call('HSET', KEYS[1], EPOCH.shift, ms(shift))
end

-- Identifies one run of Redis by its replication id, which is new with each start and each takeover by a replica. The
-- field run_id would repeat after a fail-back to a server that never stopped.
local function currentRun()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
    or string.match(call('INFO', 'server'), 'run_id:(%w+)')
end

-- Records that Redis has lost its latest writes. Which requests were in flight is then unknown. Each of these requests
-- has ended when the longest lease is over, and its delay counts from that instant (owed.lua).
local function noteLoss()
  lostAt, lostUntil = now, now + tonumber(ARGV[ARG.longestLeaseMs])
  call('HSET', KEYS[1], EPOCH.lost, ms(lostAt) .. ' ' .. ms(lostUntil))
end

local function openEpoch()
  local claimed = ARGV[ARG.time]
  local vouched, excess = tonumber(claimed), nil
  if not vouched and claimed ~= '' then
    now, vouched, excess = string.match(claimed, '^([^/]*)/([^/]*)/?(.*)$')
    now, vouched, excess = tonumber(now), tonumber(vouched), tonumber(excess)
  end
  if not now then
    local t = call('TIME')
    now = t[1] * 1000 + t[2] / 1000
  end
  local layout, partitions, run, id, previousId, lastNow, hold, announced, storedShift, doubt, leastDelaysStored,
    stopsStored, policiesStored, lostStored, excessKept = unpack(call('HMGET', KEYS[1], EPOCH.layout, EPOCH.partitions,
    EPOCH.run, EPOCH.id, EPOCH.previousId, EPOCH.now, EPOCH.holdUntil, EPOCH.restartAnnounced, EPOCH.shift, EPOCH.doubt,
    EPOCH.leastDelays, EPOCH.stops,
    EPOCH.policies, EPOCH.lost, EPOCH.excess))
  leastDelaysText, stopsText, policiesText = leastDelaysStored, stopsStored, policiesStored
  hasCrawls = layout == LAYOUT.withCrawls
  if layout ~= LAYOUT.version and not hasCrawls and (layout or run) then
    return redis.error_reply('LAYOUT ' .. (layout or '1'))
  end
  if partitions and KEYS[2] ~= TAG .. KEY.partitions .. partitions then
    return redis.error_reply('PARTITIONS ' .. partitions)
  end
  -- If Redis loses the list of partitions, this field refuses a process that starts with another number of partitions.
  if not partitions then call('HSET', KEYS[1], EPOCH.partitions, string.sub(KEYS[2], 1 + #TAG + #KEY.partitions)) end
  local thisRun = currentRun()
  local holdMs, known, last, leap = tonumber(ARGV[ARG.holdMs]), ARGV[ARG.knownEpoch], tonumber(lastNow), nil
  shift = tonumber(storedShift or '0')
  if lostStored then
    local at, till = string.match(lostStored, '^(%S+) (%S+)')
    lostAt, lostUntil = tonumber(at), tonumber(till)
  end
  local isSlowed = --[[rule:one-claim-slows-all-calls]] last and (excess or excessKept) --[[end]]
  if isSlowed then slowDown(last, excessKept, excess) end
  now = now + shift
  holdUntil = tonumber(hold or '0')
  epochId, restartAnnounced = id, announced == ANNOUNCED.plain or announced == ANNOUNCED.unknown
  if last and (doubt or now > last + STEP_MS or now < last - STEP_MS) then
    local before, left = shift, nil
    -- After an announced restart no lease is left, so the clock of Redis is accepted even if it has leapt.
    left, leap = judgeClock(last, vouched, doubt, restartAnnounced and run ~= thisRun)
    if shift ~= before or left ~= (doubt or '') then
      call('HSET', KEYS[1], EPOCH.shift, ms(shift), EPOCH.doubt, left, EPOCH.holdUntil, ms(holdUntil))
      if left == '' then call('HDEL', KEYS[1], EPOCH.doubt) end
    end
    -- Nothing is granted while the time is in doubt.
    inDoubt = left ~= ''
      and redis.error_reply('DOUBT the clock of Redis has leapt, or no process has called for a while')
    if --[[rule:nothing-is-granted-in-doubt]] inDoubt --[[end]] then
      holdUntil = math.max(holdUntil, tonumber(string.match(left, '|(.*)|')) + DOUBT_MS)
    end
  elseif --[[rule:time-never-runs-back]] last and last > now --[[end]] then now = last end
  if --[[rule:a-restart-or-a-leap-is-an-epoch]] run ~= thisRun or leap --[[end]] then
    local wait, why = holdMs, leap
    if not run then
      why = restartAnnounced and 'new' or 'empty'
      if --[[rule:an-empty-ledger-is-not-new]] restartAnnounced and known == '' --[[end]] then
        wait = announced == ANNOUNCED.unknown and 0 or FIRST_HOLD_MS
      end
    elseif run ~= thisRun then
      why = restartAnnounced and 'announced' or 'restart'
      if restartAnnounced then wait = 0 end
    end
    raiseTime(vouched)
    local previous = id or ''
    epochId = string.format('%.0f', math.max(now * 1000, (tonumber(previous) or 0) + 1))
    holdUntil = math.max(holdUntil, now + wait)
    if wait == holdMs and run ~= thisRun then noteLoss() end
    call('HSET', KEYS[1], EPOCH.run, thisRun, EPOCH.id, epochId, EPOCH.previousId, previous, EPOCH.why, why,
      EPOCH.now, ms(now), EPOCH.holdUntil, ms(holdUntil), EPOCH.layout, layout or LAYOUT.version)
    if last then call('HSET', KEYS[1], EPOCH.keptUntil, ms(last)) end
    if run ~= thisRun then
      call('HDEL', KEYS[1], EPOCH.restartAnnounced)
      restartAnnounced = false
    end
  elseif --[[rule:another-epoch-is-noticed]] known ~= '' and known ~= epochId and known ~= previousId --[[end]] then
    -- Redis has lost the epoch that the caller knows. A request granted in that epoch may still be on the wire.
    raiseTime(vouched)
    holdUntil = math.max(holdUntil, now + holdMs)
    noteLoss()
    call('HSET', KEYS[1], EPOCH.now, ms(now), EPOCH.holdUntil, ms(holdUntil))
  else
    call('HSET', KEYS[1], EPOCH.now, ms(now))
  end
  if shift ~= 0 then epochId = epochId .. '@' .. ms(shift) end
end

local refused = openEpoch()
if refused then return refused end

-- The version with which the text of a shared record begins (EPOCH.stops, EPOCH.leastDelays); '0' for a missing record.
local function versionIn(text) return text and string.match(text, '^%d+') or '0' end

-- Makes a reply: first the epoch, the shift and the versions of the shared records that are in force here, as one text
-- that scripts.ts takes apart; then the ledger's time; then the given values.
local function reply(...)
  if not (stopsText or leastDelaysText) then return { epochId, ms(now), ... } end
  return { epochId .. '#' .. versionIn(stopsText) .. ',' .. versionIn(leastDelaysText), ms(now), ... }
end

-- The rest of a script is the body of one function, which makes the inner functions cheaper to create. Without this
-- function, Lua would search for each variable of an inner function among all variables that are closed over so far
-- (docs/decisions/0007-scripts-gather.md).
return (function()
