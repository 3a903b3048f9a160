--[[
  record: the end of a robots fetch. With an answer: steps the origin's state and ends the lease of the lane that asked. Without one
  (nothing was sent; or a page or a hop whose URL is a robots.txt has ended): the state stays. Wakes the origin's lanes.
  ARGV[4] lane ('' when no lease ends by it), [5] fence, [6] origin, [7] state (state-text.ts), '' when it stays,
      [8] life of the state in ms, [9] hashes of the bodies that it needs, the latest first, separated by blanks,
      [10] the first of these bodies (stored-body.ts), or '' when it is stored already,
      [11] life in ms of what goes beyond the budget of bodies, [12] delayMs owed by the lane, [13] rested in ms,
      [14] registrable domain of the origin, [15] its budget, [16] budget of all domains, in bytes per life,
      then per agent: agent, delayMs ('' when it stays), seconds as written when they were clamped, else ''
  Returns {epoch, now, 'completed' | 'stale' | 'full', version}; full: there is no room for the body, and nothing was changed
  Keeps   a longer delay counts at once, for silences that are running; waking never lowers a lane's own clock. The lane that
          asked owes the longest delay known. A state ends no later than the bodies that it needs.
]]
if inDoubt then return inDoubt end
local lane, fence, origin = ARGV[4], ARGV[5], ARGV[6]
local key = P .. 'o:' .. origin
local asked = call('HGET', key, 'q')
local started, demanded
if lane ~= '' then
  local owner, _, _, since, _, kind, _, least = leaseOf(lane)
  if owner ~= fence or kind ~= 'robots' then asked = false end
  started, demanded = since, least
end
if asked ~= fence then
  count('stale-learn', 1)
  flush()
  return { epochId, ms(now), 'stale', '' }
end

-- Bodies up to this size cost no more than what else is known of an origin. Larger ones have a budget: each life that one is
-- given is spent, of its domain and of all, until as long a time is over. Beyond it lives are short, and these have a budget, too.
local FREE_BYTES, DAY_MS = 4096, 86400000
local longest, short = tonumber(ARGV[8]), tonumber(ARGV[11])
-- spends it of both budgets, of the domain and of all, if both have room; the counters end after that life
local function spend(counter, bytes, life)
  local counters = { [counter .. ':' .. ARGV[14]] = tonumber(ARGV[15]), [counter] = tonumber(ARGV[16]) }
  for name, budget in pairs(counters) do
    if tonumber(call('GET', name) or '0') + bytes > budget then return false end
  end
  for name in pairs(counters) do
    if call('INCRBY', name, bytes) == bytes then call('PEXPIRE', name, life) end
  end
  return true
end
-- how long a body of this size lives from now on; nil when there is no room for it
local function grant(bytes, left)
  if bytes <= FREE_BYTES then return longest end
  if left >= longest - DAY_MS then return left end -- spent less than a day ago
  if spend(P .. 'spent', bytes, longest) then return longest end
  if left >= short / 2 then return left end
  return spend(P .. 'spent-beyond', bytes, short) and short or nil
end
-- writes the body if it is given, and lengthens the life of one that is there; nil when there is no room for it
local function keepBody(hash, body)
  local at = P .. 'b:' .. hash
  local left = call('PTTL', at)
  local bytes = body ~= '' and #body or call('STRLEN', at)
  if bytes == 0 then return longest end -- it is gone: the next fetch notices
  local life = grant(bytes, left)
  if not life and left <= 0 then return nil end
  life = math.max(life or left, left)
  if body ~= '' then call('SET', at, body, 'PX', string.format('%d', life))
  elseif life > left then call('PEXPIRE', at, string.format('%d', life)) end
  return life
end

local recorded = ARGV[7] ~= ''
if recorded then
  local life, body = longest, ARGV[10]
  for hash in string.gmatch(ARGV[9], '%S+') do
    local lives = keepBody(hash, body)
    if not lives then return { epochId, ms(now), 'full', '' } end
    life, body = math.min(life, lives), ''
  end
  call('HSET', key, 's', ARGV[7])
  call('HINCRBY', key, 'v', 1)
  if call('PTTL', key) <= life then
    call('PEXPIRE', key, string.format('%d', life))
    call('HDEL', key, 'se')
  else call('HSET', key, 'se', ms(now + life)) end
end
call('HDEL', key, 'q', 'u')
-- an operator's word that has run out is forgotten here
local gates = call('HMGET', key, 'bu', 'nf', 'pu', 'ku', 'oe', 'se', 'rf', 'v')
local function isOver(at) return gates[at] and tonumber(gates[at]) <= now end
if isOver(3) then call('HDEL', key, 'pu', 'pr'); gates[3] = false end
if isOver(4) then call('HDEL', key, 'ku', 'kr'); gates[4] = false end
if isOver(5) then call('HDEL', key, 'og', 'oe', 'or'); gates[5] = false end
local version = gates[8] or '0'
if not (gates[1] or gates[2] or gates[3] or gates[4] or gates[5] or gates[6] or gates[7] == version) then call('HSET', key, 'p', '1') end

if lane ~= '' then
  local ended = now - math.min(tonumber(ARGV[13]), now - tonumber(started))
  endLease(lane)
  -- the request that brought the rules owes what they ask, and no less than what was known before it
  local owed = math.max(tonumber(ARGV[12]), tonumber(demanded) or 0)
  local agent = string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1)
  owed = math.max(owed, tonumber(call('HGET', key, 'g:' .. agent) or '0'))
  for i = 17, #ARGV, 3 do
    if ARGV[i] == agent then owed = math.max(owed, tonumber(ARGV[i + 1]) or 0) end
  end
  setDue(lane, ended + owed)
end
for i = 17, #ARGV, 3 do
  local agent = ARGV[i]
  local before = call('HGET', key, 'g:' .. agent)
  local delay = tonumber(ARGV[i + 1] ~= '' and ARGV[i + 1] or before or '0')
  if ARGV[i + 1] ~= '' then
    call('HSET', key, 'g:' .. agent, ARGV[i + 1])
    if ARGV[i + 2] ~= '' then
      call('HSET', key, 'w:' .. agent, ARGV[i + 2])
      count('clamped', 1)
    else call('HDEL', key, 'w:' .. agent) end
  end
  local other = agent .. ' ' .. origin
  local opens = call('ZSCORE', DUE, other)
  local longer = before and math.max(0, delay - tonumber(before)) or 0
  if opens then
    local tries, list, clock, why, high = memOf(other)
    if clock ~= '' then
      setMem(other, tries, list, '', why, high)
      setDue(other, tonumber(clock) + longer)
    elseif longer > 0 and other ~= lane then
      setDue(other, tonumber(opens) + longer)
    end
  elseif other ~= lane then
    -- reserved: its clock waits in the lease, and begin will give the lane back to it; in flight: what it will owe does
    local owner, list, clock, since, owed, kind, failing, least, before, ends = leaseOf(other)
    if owner and since == '' and longer > 0 then
      setLease(other, owner, list, clock + longer, '', owed, kind, failing, least, '', '')
    elseif owner and since ~= '' then
      local more = ms(math.max(delay, tonumber(least) or 0)) -- what an operator's hand demands stays
      setLease(other, owner, list, clock, since, owed, kind, failing, more, before, ends)
    end
  end
end
flush()
return { epochId, ms(now), 'completed', version }
