--[[
  learn: a robots answer. Steps the origin's state under the asker's fence, wakes the origin's lanes, ends the lease.
  ARGV[4] lane ('' when the asker died and a gateway speaks for it), [5] fence, [6] origin, [7] state (state-text.ts),
      [8] life of the origin's state in ms, [9] hash or '', [10] the body (stored-body.ts), or '' when it is stored already,
      [11] life of the body in ms, [12] gapMs owed by the lane, [13] rested in ms, then per agent: agent, gapMs, seconds as written when they were clamped, else ''
  Returns {epoch, now, 'settled' | 'stale', version}
  Keeps   a longer gap counts at once, for silences that are running; waking never lowers a lane's own clock.
]]
if inDoubt then return inDoubt end
local lane, fence, origin = ARGV[4], ARGV[5], ARGV[6]
local key = P .. 'o:' .. origin
local asked = call('HGET', key, 'q')
local begun, demanded
if lane ~= '' then
  local owner, _, _, since, _, _, _, least = leaseOf(lane)
  if owner ~= fence or since == '' then asked = false end
  begun, demanded = since, least
end
if asked ~= fence then
  count('stale-learn', 1)
  flush()
  return { epochId, ms(now), 'stale', '' }
end
call('HSET', key, 's', ARGV[7])
call('HDEL', key, 'q', 'u')
local version = call('HINCRBY', key, 'v', 1)
local gates = call('HMGET', key, 'bu', 'pu', 'ku', 'nf', 'og') -- 'rf' speaks of the version before
if not (gates[1] or gates[2] or gates[3] or gates[4] or gates[5]) then call('HSET', key, 'p', '1') end
if call('PTTL', key) < tonumber(ARGV[8]) then call('PEXPIRE', key, ARGV[8]) end
if ARGV[9] ~= '' then
  if ARGV[10] ~= '' then call('SET', P .. 'b:' .. ARGV[9], ARGV[10], 'PX', ARGV[11])
  else call('PEXPIRE', P .. 'b:' .. ARGV[9], ARGV[11]) end
end
if lane ~= '' then
  local ended = now - math.min(tonumber(ARGV[13]), now - tonumber(begun))
  endLease(lane)
  -- the request that brought the rules owes what they ask, not what was guessed before it
  local owed = math.max(tonumber(ARGV[12]), tonumber(demanded) or 0)
  for i = 14, #ARGV, 3 do
    if ARGV[i] .. ' ' .. origin == lane then owed = math.max(owed, tonumber(ARGV[i + 1])) end
  end
  setDue(lane, ended + owed)
end
for i = 14, #ARGV, 3 do
  local agent, gap = ARGV[i], tonumber(ARGV[i + 1])
  local before = call('HGET', key, 'g:' .. agent)
  call('HSET', key, 'g:' .. agent, ARGV[i + 1])
  if ARGV[i + 2] ~= '' then
    call('HSET', key, 'w:' .. agent, ARGV[i + 2])
    count('clamped', 1)
  else call('HDEL', key, 'w:' .. agent) end
  local other = agent .. ' ' .. origin
  local opens = call('ZSCORE', DUE, other)
  local longer = before and math.max(0, gap - tonumber(before)) or 0
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
      local more = ms(math.max(gap, tonumber(least) or 0)) -- what an operator's hand demands stays
      setLease(other, owner, list, clock, since, owed, kind, failing, more, before, ends)
    end
  end
end
flush()
return { epochId, ms(now), 'settled', tostring(version) }
