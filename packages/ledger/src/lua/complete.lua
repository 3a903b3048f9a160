--[[
  complete: the end of a lease, or a word on one: outcomes, the head, the next due time, all or nothing.
  ARGV[4] first back-off in ms, ARGV[5] longest, ARGV[6] quiet time after which incidents are forgotten
  then per lane: lane, fence, 'done', value, rested, json, kind: what most completions are, 'end' in load 'normal' with one outcome
                 under an id that was not remembered
         or      lane, fence, what, value, rested, load, n, n × (json, kind, id)
    what    'keep' the lease goes on (an order follows) · 'release' to its clock (a visit that was not used, too) · 'unused' of
            a lease that was started, when nothing was sent: to its clock, and after its delay; no attempt is counted · 'defer' not before value (why in load) · 'end' the exchange is over: value = silence owed in ms, rested = silence kept
            already · 'again' the same, but the head stays and its attempt is counted
    load    with 'end' and 'again': 'normal', or 'asked-for-less' (429, 503) | 'no-answer' with jitter and Retry-After in ms or '':
            'too-fast 0.25 120000'; jitter in [0,1): back-off is only lengthened by it
    n × …   what leaves in this very call: heads of the lane with their outcomes, in order, id 'bucket:idNumber' or '' when it
            was not remembered; kind 'candidate': a redirect's target, for the outbox
  Returns {epoch, now, then per lane 'completed' | 'stale'}
  Keeps   'end' and 'unused' need a started lease, the others one that nobody has started. A stale fence changes nothing and is counted.
]]
if inDoubt then return inDoubt end
local FIRST, LONGEST, QUIET = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local out = { epochId, ms(now) }
local stale, left = 0, 0

-- one escalation per incident, however many agents see it: an exchange that was begun before the site was shut only extends
local function backOff(origin, load, retryAfter, jitter, began, ended)
  local key = P .. 'o:' .. origin
  local o = call('HMGET', key, 'bu', 'bf', 'nf')
  noteChange(origin)
  local til, incidents, failures = tonumber(o[1] or '0'), tonumber(o[2] or '0'), tonumber(o[3] or '0')
  local another = began >= til
  local length
  if load == 'no-answer' then
    if another then
      failures = failures + 1
      call('HSET', key, 'nf', failures)
    end
    -- one lost connection says nothing about the site
    if failures >= 2 then length = math.min(FIRST / 12 * 2 ^ (failures - 2), LONGEST) end
  else
    if another then
      incidents = (til > 0 and now - til > QUIET) and 1 or incidents + 1
      call('HSET', key, 'bf', incidents)
    end
    if failures > 0 then call('HDEL', key, 'nf') end -- it did answer
    length = math.min(FIRST * 2 ^ (math.max(incidents, 1) - 1), LONGEST)
    if retryAfter ~= '' then length = tonumber(retryAfter) end
  end
  if length then
    til = math.max(til, ended + length * (1 + jitter / 10))
    call('HSET', key, 'bu', ms(til))
  end
  local life = math.ceil(math.max(til - now, 0) + QUIET)
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end

local HEADER = 7 -- arguments per lane, before what leaves; all of them of one that is 'done'
local function leaving(at) return ARGV[at + 2] == 'done' and 0 or tonumber(ARGV[at + 6]) end

-- one pass for the lanes, so that their leases and memories are read together
local lanes = {}
local i = 7
while i <= #ARGV do
  lanes[#lanes + 1] = ARGV[i]
  i = i + HEADER + leaving(i) * 3
end
readAll(LEASES, leaseRead, lanes)
readLanes(lanes)

-- n URLs leave their list; what stands behind them comes first
local function dropFirst(lane, list, n)
  if list == 'h' then call('LPOP', P .. 'h:' .. lane, n)
  else
    local _, more = headOf(lane)
    local rest = more and call('LPOP', P .. 'q:' .. lane, n)
    setHead(lane, rest and rest[n], true)
  end
end

local OUTCOMES = P .. 'outcomes'
-- what leaves with this word: returns how many URLs of the lane
local function leave(first, last)
  local heads = 0
  for k = first, last, 3 do
    local kind, id = ARGV[k + 1], ARGV[k + 2]
    if kind == 'candidate' then call('XADD', P .. 'outbox', '*', 'c', ARGV[k])
    else
      heads = heads + 1
      call('XADD', OUTCOMES, '*', 'o', ARGV[k])
      if id ~= '' then
        local colon = string.find(id, ':', 1, true)
        call('SREM', P .. 'ids:' .. string.sub(id, 1, colon - 1), string.sub(id, colon + 1))
      end
      count(kind, 1)
    end
  end
  return heads
end

i = 7
while i <= #ARGV do
  local lane, fence, what, n = ARGV[i], ARGV[i + 1], ARGV[i + 2], leaving(i)
  local first = i + HEADER
  local done = what == 'done'
  local ends = done or what == 'end' or what == 'again'
  local owner, list, notBefore, started, delay, kind, failing, least, before = leaseOf(lane)
  local unused = what == 'release' and isVisit(kind)
  if owner ~= fence or (not unused and (ends or what == 'unused') ~= (started ~= '')) then
    stale = stale + 1
    out[#out + 1] = 'stale'
  else
    out[#out + 1] = 'completed'
    local tries, of, clock, why, high = '', '', '', '', ''
    if memRead[lane] then tries, of, clock, why, high = memOf(lane) end
    local heads = 0
    if done then
      call('XADD', OUTCOMES, '*', 'o', ARGV[i + 5])
      count(ARGV[i + 6], 1)
      heads = 1
    elseif n > 0 then heads = leave(first, first + n * 3 - 1) end
    if heads > 0 then
      dropFirst(lane, list, heads)
      left = left + heads
      if of == list then tries, of = '', '' end
    end
    if ends then
      local load = done and 'normal' or ARGV[i + 5]
      local ended = now - math.min(tonumber(ARGV[i + 4]), now - tonumber(started))
      endLease(lane, kind)
      if what == 'again' then tries, of = tostring(tonumber(tries == '' and '0' or tries) + 1), list
      elseif not isVisit(kind) then why = '' end
      if memRead[lane] or tries ~= '' then setMem(lane, tries, of, clock, why, high) end
      local owed = tonumber(ARGV[i + 3])
      if least ~= '' then owed = math.max(owed, tonumber(least)) end
      -- a lane without work whose silence is over already is forgotten at once, as take would do
      if ended + owed <= now and not hasWork(lane, high) then forgetMem(lane)
      elseif before ~= '' and hasWork(lane, high) then -- a visit: others are let in before the lane's own URLs
        giveBack(lane, ended + owed, ended + owed + tonumber(before) * math.max(owed, 50), 'pace-group')
      else setDue(lane, ended + owed) end
      if load ~= 'normal' then
        local kind, jitter, retryAfter = string.match(load, '^(%S+) (%S+) (.*)$')
        backOff(originOf(lane), kind, retryAfter, tonumber(jitter), tonumber(started), ended)
      elseif failing ~= '' then
        call('HDEL', P .. 'o:' .. originOf(lane), 'nf')
      end
    else
      if heads > 0 and memRead[lane] then setMem(lane, tries, of, clock, why, high) end
      if what == 'release' then
        endLease(lane, kind); giveBack(lane, tonumber(notBefore))
      elseif what == 'unused' then -- the site has seen a connection: it comes again no sooner than after a request
        endLease(lane, kind); giveBack(lane, math.max(tonumber(notBefore), now + math.max(tonumber(delay), tonumber(least) or 0)))
      elseif what == 'defer' then
        local why = ARGV[i + 5]
        endLease(lane)
        -- answered since the taking: the lanes have been woken, and this one was not among them
        if why == 'robots-in-flight' and call('HEXISTS', P .. 'o:' .. originOf(lane), 'q') == 0 then giveBack(lane, tonumber(notBefore))
        else giveBack(lane, tonumber(notBefore), tonumber(ARGV[i + 3]), why) end
      end
    end
  end
  i = first + n * 3
end
count('stale-settle', stale)
count('left', left)
flush()
return out
