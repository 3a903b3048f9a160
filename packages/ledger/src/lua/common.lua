--[[
  common: stands in front of every verb. One clock, one epoch, the helpers that two verbs share.

  KEYS[1]  {tag}:epoch   hash: run, id, prev, now, hold, fence, planned. Every other key is built from its tag.
  ARGV[1]  nowMs or ''   tests pass a time; in production '' and the clock of Redis rules
  ARGV[2]  holdMs        how long nothing is granted after Redis forgot: lease + quarantine
  ARGV[3]  epoch id that the caller knows, or '' from a process that has just started

  {tag}:due       zset  lane → instant it may be taken (ms since 1970 UTC, three decimals)
  {tag}:inflight  zset  lane → instant its lease ends
  {tag}:leases    hash  lane → fence|list|notBefore|begunAt|gap|kind   (begunAt '' until begin)
  {tag}:q:<lane>  list  URLs of the lane; the head stays while in flight       {tag}:h:<lane>  the same, priority high
  {tag}:m:<lane>  hash  memory of a lane, only while it has one: t tries of the head, l its list, c clock kept while
                        the lane is deferred, w why it is
  {tag}:o:<origin> hash  s robots state (JSON), v version, q/u question under way (fence, until), bu/bf/be back-off
                        (until, incidents, last end), nf failures in a row, pu/pr pause, g:<agent> gap, w:<agent> clamped
  {tag}:ids:<n>   set   ids that are stored, as numbers, in 4096 buckets
  {tag}:outcomes  stream · {tag}:outbox stream of candidates born from redirects · {tag}:counts hash
  {tag}:b:<hash>  robots.txt body · {tag}:mark:<…> what was already parked · {tag}:wake channel

  Lane = agent .. ' ' .. origin. Silence starts are rounded up and openings compared exactly, so rounding never shortens.
]]
local P = string.sub(KEYS[1], 1, -6)
local DUE, INFLIGHT, LEASES, COUNTS = P .. 'due', P .. 'inflight', P .. 'leases', P .. 'counts'
local FIRST_HOLD_MS = 1000 -- an empty ledger: long enough for the living, who knew another epoch, to speak up
local now, epochId, holdUntil, announced

local function ms(instant) return string.format('%.3f', instant) end

local function openEpoch()
  if ARGV[1] ~= '' then now = tonumber(ARGV[1])
  else local t = redis.call('TIME'); now = t[1] * 1000 + t[2] / 1000 end
  local e = redis.call('HMGET', KEYS[1], 'run', 'id', 'prev', 'now', 'hold', 'planned')
  local last = tonumber(e[4] or '0')
  if last > now then now = last end -- Redis's clock never runs backwards for us
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  holdUntil = tonumber(e[5] or '0')
  epochId, announced = e[2], e[6] == '1'
  local holdMs, known = tonumber(ARGV[2]), ARGV[3]
  if e[1] ~= run then
    local wait = holdMs
    if not e[1] then wait = (known == '') and FIRST_HOLD_MS or holdMs
    elseif announced then wait = 0 end -- a restart that was announced: every lease had ended
    local prev = e[2] or ''
    epochId = string.format('%.0f', now * 1000)
    holdUntil = math.max(holdUntil, now + wait)
    redis.call('HSET', KEYS[1], 'run', run, 'id', epochId, 'prev', prev, 'now', ms(now), 'hold', ms(holdUntil))
    redis.call('HDEL', KEYS[1], 'planned')
    announced = false
  elseif known ~= '' and known ~= epochId and known ~= e[3] then
    -- somebody remembers an epoch of which nothing is left here: what he was granted may still be on the wire
    holdUntil = math.max(holdUntil, now + holdMs)
    redis.call('HSET', KEYS[1], 'now', ms(now), 'hold', ms(holdUntil))
  else
    redis.call('HSET', KEYS[1], 'now', ms(now))
  end
end

-- earliest due time written by this call; told to sleeping dispatchers when it comes before all others
local soonest, head
local function noteHead()
  head = tonumber(redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or 'inf')
end
local function setDue(lane, instant)
  redis.call('ZADD', DUE, ms(instant), lane)
  if not soonest or instant < soonest then soonest = instant end
end
local function wake()
  if soonest and soonest < head then redis.call('PUBLISH', P .. 'wake', ms(soonest)) end
end

local function originOf(lane) return string.sub(lane, string.find(lane, ' ', 1, true) + 1) end

-- fence, list, notBefore, begunAt, gap, kind of a lease; nil when there is none
local function leaseOf(lane)
  local record = redis.call('HGET', LEASES, lane)
  if not record then return nil end
  return string.match(record, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)$')
end
local function endLease(lane)
  redis.call('HDEL', LEASES, lane)
  redis.call('ZREM', INFLIGHT, lane)
end

-- give a lane back unused: to its own clock, or not before `till`, keeping the clock for whoever wakes it earlier
local function giveBack(lane, clock, till, why)
  if till and till > clock then
    redis.call('HSET', P .. 'm:' .. lane, 'c', ms(clock), 'w', why)
    redis.call('PEXPIRE', P .. 'm:' .. lane, math.ceil(math.max(till - now, 0)) + 86400000)
    setDue(lane, till)
  else
    setDue(lane, clock)
  end
end

-- a lease begins: whoever announced a restart because all had ended spoke too soon
local function granted() if announced then redis.call('HDEL', KEYS[1], 'planned') end end

local function count(name, n) if n > 0 then redis.call('HINCRBY', COUNTS, name, n) end end
openEpoch()
