--[[
  common: stands in front of every verb. One clock, one epoch, the helpers that two verbs share.

  KEYS[1]  {tag}:epoch   hash: run, id, prev, why, now, hold, shift, doubt, fence, planned, of, change, moving, layout. Every other key is
                         built from its tag.
  KEYS[2]  {tag}:of:<n>  never there (keys.ts says why); n is how many partitions the caller knows of, and when the epoch's
                         own `of` says otherwise the call is refused: hosts live elsewhere now, or are on their way
  ARGV[1]  mostMs or ''  the latest time of the ledger that the caller can vouch for: what it saw last, and what has passed on its
                         own monotonic clock since; '' from a process that has only just started. Tests: 'nowMs/mostMs', and
                         nowMs stands for the clock of Redis
  ARGV[2]  holdMs        how long nothing is granted after Redis forgot, or its clock leapt: lease + quarantine
  ARGV[3]  epoch id that the caller knows, or '' from a process that has just started

  {tag}:due       zset  lane → instant it may be taken (ms since 1970 UTC, three decimals)
  {tag}:inflight  zset  lane → instant its lease is looked at: its end, or before that the end of the reservation it grew out of
  {tag}:visits    zset  lane → instant its lease ends, where no URL of the lane asked for it: kind hop (of a robots.txt) or clock (of a pace group)
  {tag}:queues    hash  lane → who waits to visit it (visit.lua); gone two hours after the latest was told when to come
  {tag}:leases    hash  lane → fence, list, notBefore, startedAt, delay, kind, failing, least, version, ends, packed   (startedAt '' until start;
                        failing: connections were lost in a row before it; least: silence that rules demand which came in
                        while it was in flight; version: of an origin whose gates all stood open at the taking, or of a visit: how many visits come before the lane's own URLs; ends: of
                        the lease proper, absent where inflight or visits says it)
  {tag}:changed   zset  origin → latest fence handed out when one of its gates changed: who was taken later has seen it
  {tag}:lanes     hash  lane → what it remembers, then its first URL; either may be missing, and what has neither is not there. A whole
                        batch of lanes is read, or written, by one command
                          |tries|list|clock|why|high|   tries of the head and the list it is in, the clock kept while the lane is
                                                        deferred and why it is, whether it has priority URLs
                          the first URL (entry.ts): it stays there while in flight; '+' in front when more may stand in
  {tag}:q:<lane>  list  the URLs behind it
  {tag}:h:<lane>  list  the lane's URLs of priority high; the head stays while in flight
  {tag}:o:<origin> hash  s robots state (state-text.ts), se instant it ends where that is before the hash does, v version, p while every gate stands open (noteChange ends it), q/u question under way (fence, until), bu/bf/be back-off
                        (until, incidents, last end), nf failures in a row, pu/pr pause, ku/kr block, og/oe/or delay by hand
                        (ms, until, reason), rf version at which a refetch was asked for, g:<agent> delay, w:<agent> clamped
  {tag}:ids:<n>   set   ids that are stored, as numbers, in 4096 buckets
  {tag}:outcomes  stream · {tag}:outbox stream of candidates born from redirects · {tag}:counts hash
  {tag}:b:<hash>  robots.txt body · {tag}:spent, {tag}:spent-beyond, each also with :<domain>: what was spent of the budgets of bodies (record.lua) · {tag}:mark:<…> what was already parked · {tag}:wake channel

  Reads of a whole batch are one command where Redis offers it, and so are its writes: they are gathered and flushed at the
  end, for a redis.call costs more than what it does (measured: docs/decisions/0007-scripts-gather.md).

  Lane = agent .. ' ' .. origin. Silence starts are rounded up and openings compared exactly, so rounding never shortens.
]]
-- globals would be looked up by name each time
local KEYS, ARGV, call, tonumber, unpack, string = KEYS, ARGV, redis.call, tonumber, unpack, string
local P = string.sub(KEYS[1], 1, -6)
local DUE, INFLIGHT, LEASES, LANES, COUNTS = P .. 'due', P .. 'inflight', P .. 'leases', P .. 'lanes', P .. 'counts'
local VISITS, QUEUES = P .. 'visits', P .. 'queues'
-- How keys and records are laid out: another number is another ledger, which is neither read nor written. Raise it with
-- every change that an earlier or later process would misread.
local LAYOUT = '2'
local FIRST_HOLD_MS = 1000 -- a ledger that is known to be new: long enough for the living, who knew another epoch, to speak up

-- The ledger's time is Redis's TIME plus `shift`, which is 0 until TIME leaps. Each leap is taken out by the shift, so that the
-- ledger's time neither stops nor skips, and everything written in it stays true: docs/decisions/0014-a-clock-that-leaps.md.
local BELIEVED_MS = 1000 -- a smaller step forward is believed; a smaller step back is waited out
local UNSEEN_MS = 5000 -- who has only just started believes so much: the living call once a second
local DOUBT_MS = 2000 -- so long the living have time to say whether the time that nobody has seen has really passed
local now, epochId, holdUntil, announced
local inDoubt -- no silence is written down while it is not known what time it is: asking again is safe
local shift -- ms that the ledger's time is ahead of TIME; negative when it is behind

local function ms(instant) return string.format('%.3f', instant) end

-- What has become of the clock since the last call. Sets `now`, `shift` and, where it moves with them, `holdUntil`. Returns the
-- doubt that is left, '' for none, and what kind of leap is certain now, if one is. A doubt is a stretch of time that TIME claims
-- and that nobody has seen pass: ms|since when|1 when a living process denies it. It is left out until that is known.
local function judgeClock(last, most, doubt, isBelieved)
  local delay, since, denied = string.match(doubt or '', '^(.*)|(.*)|(.*)$')
  delay, since = tonumber(delay), tonumber(since)
  local function pass() -- it has really passed
    shift, now = shift + delay, now + delay
    if holdUntil > last then holdUntil = holdUntil + delay end
    return ''
  end
  if now < last - BELIEVED_MS then
    local back = last - now
    shift, now = shift + back, last
    return '', string.format('clock %.0f', -back)
  end
  now = math.max(now, last)
  local unseen = 0
  if isBelieved then unseen = 0
  elseif most and now > most + BELIEVED_MS and now > last + BELIEVED_MS then unseen = now - math.max(last, most)
  elseif not most and now > last + UNSEEN_MS then unseen = now - last end
  if unseen > 0 then
    shift, now = shift - unseen, now - unseen
    delay, since, denied = (delay or 0) + unseen, now, most and '1' or denied or ''
  elseif not delay then return ''
  elseif most and most + BELIEVED_MS >= now + delay then return pass() -- somebody has seen it
  elseif most and denied == '' then since, denied = now, '1'
  elseif now >= since + DOUBT_MS then
    if denied ~= '' then return '', string.format('clock %.0f', delay) end
    return pass() -- nobody is alive who could have seen it
  end
  return string.format('%.3f|%.3f|%s', delay, since, denied)
end

-- What the living have seen of the ledger's time, and what has passed since, holds where Redis has forgotten it: so that fences
-- rise, whatever was lost. Everything is held then, and a little too much does no harm.
local function lift(most)
  if not most or most <= now + BELIEVED_MS then return end
  shift, now = shift + most - now, most
  call('HSET', KEYS[1], 'shift', ms(shift))
end

-- A run of Redis as it serves: its replication id is a new one with each start and each time that a replica takes over, so a
-- fail-back to a server that never stopped is another run as well (its run_id would be the old one).
local function runOf()
  return string.match(call('INFO', 'replication'), 'master_replid:(%w+)') or string.match(call('INFO', 'server'), 'run_id:(%w+)')
end

local function openEpoch()
  local most = tonumber(ARGV[1])
  if most or ARGV[1] == '' then
    local t = call('TIME')
    now = t[1] * 1000 + t[2] / 1000
  else
    local time, vouched = string.match(ARGV[1], '^(.*)/(.*)$')
    now, most = tonumber(time), tonumber(vouched)
  end
  local e = call('HMGET', KEYS[1], 'run', 'id', 'prev', 'now', 'hold', 'planned', 'of', 'layout', 'shift', 'doubt')
  if e[8] ~= LAYOUT and (e[8] or e[1]) then return redis.error_reply('LAYOUT ' .. (e[8] or '1')) end
  if e[7] and KEYS[2] ~= P .. 'of:' .. e[7] then return redis.error_reply('PARTITIONS ' .. e[7]) end
  local run = runOf()
  local holdMs, known, last, leap = tonumber(ARGV[2]), ARGV[3], tonumber(e[4]), nil
  shift = tonumber(e[9] or '0')
  now = now + shift
  holdUntil = tonumber(e[5] or '0')
  epochId, announced = e[2], e[6] == '1'
  if last and (e[10] or now > last + BELIEVED_MS or now < last - BELIEVED_MS) then
    local before, doubt = shift, nil
    -- after a restart that was announced nothing is out: whatever time it is now, it has passed
    doubt, leap = judgeClock(last, most, e[10], announced and e[1] ~= run)
    if shift ~= before or doubt ~= (e[10] or '') then
      call('HSET', KEYS[1], 'shift', ms(shift), 'doubt', doubt, 'hold', ms(holdUntil))
      if doubt == '' then call('HDEL', KEYS[1], 'doubt') end
    end
    -- nothing is granted meanwhile, either
    inDoubt = doubt ~= '' and redis.error_reply('DOUBT the clock of Redis has leapt, or nobody has looked at it')
    if inDoubt then holdUntil = math.max(holdUntil, tonumber(string.match(doubt, '|(.*)|')) + DOUBT_MS) end
  elseif last and last > now then now = last end -- the ledger's time never runs backwards
  if e[1] ~= run or leap then
    local wait, why = holdMs, leap
    if not e[1] then
      why = announced and 'new' or 'empty'
      if announced and known == '' then wait = FIRST_HOLD_MS end
    elseif e[1] ~= run then
      why = announced and 'announced' or 'restart'
      if announced then wait = 0 end -- every lease had ended
    end
    lift(most)
    local prev = e[2] or ''
    epochId = string.format('%.0f', math.max(now * 1000, (tonumber(prev) or 0) + 1))
    holdUntil = math.max(holdUntil, now + wait)
    call('HSET', KEYS[1], 'run', run, 'id', epochId, 'prev', prev, 'why', why, 'now', ms(now), 'hold', ms(holdUntil), 'layout', LAYOUT)
    if e[1] ~= run then
      call('HDEL', KEYS[1], 'planned')
      announced = false
    end
  elseif known ~= '' and known ~= epochId and known ~= e[3] then
    -- somebody remembers an epoch of which nothing is left here: what he was granted may still be on the wire
    lift(most)
    holdUntil = math.max(holdUntil, now + holdMs)
    call('HSET', KEYS[1], 'now', ms(now), 'hold', ms(holdUntil))
  else
    call('HSET', KEYS[1], 'now', ms(now))
  end
  if shift ~= 0 then epochId = epochId .. '@' .. ms(shift) end -- told with each answer: scripts.ts takes it off
end

-- what this call will write, and what it has read: a lane that comes twice in one batch sees its first turn's effect
local dueWrites, leaseTouched, laneTouched, counted = {}, {}, {}, {}
local leaseRead, memRead, headRead = {}, {}, {} -- lane → record, false when there is none
local soonest -- earliest due time written; told to sleeping dispatchers when it comes before all others
local dueRead = {} -- lane → instant written by this very call
local visitsEnded = {}

local function setDue(lane, instant)
  local n = #dueWrites
  dueWrites[n + 1] = instant; dueWrites[n + 2] = lane
  dueRead[lane] = instant
  if not soonest or instant < soonest then soonest = instant end
end

local function originOf(lane) return string.sub(lane, string.find(lane, ' ', 1, true) + 1) end

-- reads records of many lanes at once
local function readAll(key, into, lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', key, unpack(lanes))
  for i = 1, #lanes do into[lanes[i]] = found[i] end
end

-- fence, list, notBefore, begunAt, delay, kind, failing, least, version, ends of a lease, '' for what it does not have; nil when
-- there is none. Packed, not text: taking ten fields of text apart cost more than reading them.
local LEASE = '<sssssddddd' -- fence, list, kind, failing, version; notBefore, begunAt, delay, least, ends (-1: '')
local function leaseOf(lane)
  local record = leaseRead[lane]
  if record == nil then
    record = call('HGET', LEASES, lane)
    leaseRead[lane] = record
  end
  if not record then return nil end
  local fence, list, kind, failing, version, notBefore, started, delay, least, ends = struct.unpack(LEASE, record)
  return fence, list, notBefore, started >= 0 and started or '', delay >= 0 and delay or '', kind, failing, least >= 0 and least or '',
    version, ends >= 0 and ends or ''
end
local function touchLease(lane, record)
  leaseRead[lane] = record
  leaseTouched[#leaseTouched + 1] = lane
end
local function setLease(lane, fence, list, notBefore, started, delay, kind, failing, least, version, ends)
  touchLease(lane, struct.pack(LEASE, fence, list, kind, failing, version, notBefore, started == '' and -1 or started,
    delay == '' and -1 or delay, least == '' and -1 or least, ends == '' and -1 or ends))
end
local function isVisit(kind) return kind == 'hop' or kind == 'clock' end
local function endLease(lane, kind)
  touchLease(lane, false)
  if isVisit(kind) then visitsEnded[#visitsEnded + 1] = lane end
end

-- Gates of an origin: its rules, the question under way, back-off, pause, block, a delay by hand, failures in a row. Take reads
-- them all; begin reads again only what changed since. New rules need no note: the question that brought them has one, and a
-- lane taken while it was under way is not trusted to its lease. Neither is a reservation older than this.
local CHANGES_KEPT_MS = 60000
local function noteChange(origin)
  call('ZADD', P .. 'changed', call('HGET', KEYS[1], 'fence') or '0', origin)
  call('HDEL', P .. 'o:' .. origin, 'p')
end

-- The robots state of an origin, '' once it has ended. It ends with the bodies that its rules are in (learn.lua), also where an
-- operator's hand keeps the hash for longer: an ETag without its body would ask for a 304 that tells nothing.
local function stateOf(state, ends)
  if not state or (ends and tonumber(ends) <= now) then return '' end
  return state
end

local BAR, PLUS = string.byte('|+', 1, 2) -- a URL begins with its path
local function readLane(lane, record)
  if not record then memRead[lane], headRead[lane] = false, false
  elseif string.byte(record) ~= BAR then memRead[lane], headRead[lane] = false, record
  else
    local memory, head = string.match(record, '^(|[^|]*|[^|]*|[^|]*|[^|]*|[^|]*|)(.*)$')
    memRead[lane], headRead[lane] = memory, head ~= '' and head
  end
end
local function readLanes(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', LANES, unpack(lanes))
  for i = 1, #lanes do readLane(lanes[i], found[i]) end
end
local function knowLane(lane)
  if memRead[lane] == nil then readLane(lane, call('HGET', LANES, lane)) end
end

-- tries, list, clock, why, high of a lane, each '' when there is none
local function memOf(lane)
  knowLane(lane)
  local memory = memRead[lane]
  if not memory then return '', '', '', '', '' end
  return string.match(memory, '^|([^|]*)|([^|]*)|([^|]*)|([^|]*)|(.*)|$')
end
local function forgetMem(lane)
  if memRead[lane] then
    memRead[lane] = false
    laneTouched[#laneTouched + 1] = lane
  end
end
local function setMem(lane, tries, list, clock, why, high)
  knowLane(lane)
  local memory = '|' .. tries .. '|' .. list .. '|' .. clock .. '|' .. why .. '|' .. high .. '|'
  if memory == '||||||' then return forgetMem(lane) end
  memRead[lane] = memory
  laneTouched[#laneTouched + 1] = lane
end

-- first URL of the list q and whether more may stand behind it; nil when there is none
local function headOf(lane)
  knowLane(lane)
  local head = headRead[lane]
  if not head then return nil end
  if string.byte(head) == PLUS then return string.sub(head, 2), true end
  return head, false
end
local function setHead(lane, url, more)
  knowLane(lane)
  headRead[lane] = url and (more and '+' .. url or url) or false
  laneTouched[#laneTouched + 1] = lane
end

local function hasWork(lane, high)
  return headOf(lane) ~= nil or high ~= '' and call('EXISTS', P .. 'h:' .. lane) == 1
end

-- give a lane back unused: to its own clock, or not before `till`, keeping the clock for whoever wakes it earlier
local function giveBack(lane, clock, till, why)
  if till and till > clock then
    local tries, list, _, _, high = memOf(lane)
    setMem(lane, tries, list, ms(clock), why, high)
    setDue(lane, till)
  else
    setDue(lane, clock)
  end
end

local function count(name, n) if n > 0 then counted[name] = (counted[name] or 0) + n end end

-- what became of the lanes touched: fields to write and fields to drop
local function writeAll(key, touched, recordOf)
  local writes, ends, w, e = {}, {}, 0, 0
  for i = 1, #touched do
    local lane = touched[i]
    local record = recordOf(lane)
    if record then writes[w + 1], writes[w + 2], w = lane, record, w + 2 else e = e + 1; ends[e] = lane end
  end
  if w > 0 then call('HSET', key, unpack(writes)) end
  if e > 0 then call('HDEL', key, unpack(ends)) end
  return ends
end
local function leaseRecord(lane) return leaseRead[lane] end
local function laneRecord(lane)
  local memory, head = memRead[lane], headRead[lane]
  return memory and head and memory .. head or memory or head
end

-- every verb that writes ends with this
local function flush()
  local ended = writeAll(LEASES, leaseTouched, leaseRecord)
  if #ended > 0 then call('ZREM', INFLIGHT, unpack(ended)) end
  if #visitsEnded > 0 then call('ZREM', VISITS, unpack(visitsEnded)) end
  writeAll(LANES, laneTouched, laneRecord)
  for name, n in pairs(counted) do call('HINCRBY', COUNTS, name, n) end
  if soonest then
    local head = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    call('ZADD', DUE, unpack(dueWrites))
    if not head or soonest < tonumber(head) then call('PUBLISH', P .. 'wake', ms(soonest)) end
  end
end

-- a lease begins: whoever announced a restart because all had ended spoke too soon
local function granted() if announced then call('HDEL', KEYS[1], 'planned') end end

local refused = openEpoch()
if refused then return refused end
