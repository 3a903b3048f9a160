--[[
  operate: the operator's hand on one origin. Everything it does is written down in {tag}:operations (the last 10,000).
  ARGV[4] origin, [5] action, [6] value, [7] until (an instant of the ledger, which operations.ts has bounded), [8] by whom, [9] reason, then agents
    pause    nothing is started before `until`                        resume    ends it
    block    URLs end as refused until `until`                      unblock   ends it
    delay      a silence of `value` ms at least, until `until`: never less than the rules owe, but beyond the cap if need be
    refetch  the robots.txt is asked for again before any other request
    drop     nothing but the record: operations.ts has done it
  Returns {epoch, now, 'done'}
  Keeps   a longer delay counts at once, for silences that run; lanes are woken to their own clock, never before it.
]]
local origin, action, value, till = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local key = P .. 'o:' .. origin
local lasts = action == 'pause' or action == 'block' or action == 'delay'
local life = (lasts and math.ceil(math.max(till - now, 0)) or 0) + 86400000

local function wakeLanes(longer)
  for i = 10, #ARGV do
    local lane = ARGV[i] .. ' ' .. origin
    local tries, list, clock, why, high = memOf(lane)
    local opens = call('ZSCORE', DUE, lane)
    if opens and clock ~= '' then
      setMem(lane, tries, list, '', why, high)
      setDue(lane, tonumber(clock) + longer(ARGV[i]))
    elseif opens and longer(ARGV[i]) > 0 then
      setDue(lane, tonumber(opens) + longer(ARGV[i]))
    elseif not opens and longer(ARGV[i]) > 0 then
      local owner, of, notBefore, since, owed, kind, failing, least, before, ends = leaseOf(lane)
      if owner and since == '' then
        setLease(lane, owner, of, notBefore + longer(ARGV[i]), '', owed, kind, failing, least, '', '')
      elseif owner then
        local more = ms(math.max(tonumber(value), tonumber(least) or 0))
        setLease(lane, owner, of, notBefore, since, owed, kind, failing, more, before, ends)
      end
    end
  end
end
local function none() return 0 end

if action == 'pause' then call('HSET', key, 'pu', ms(till), 'pr', ARGV[9])
elseif action == 'resume' then call('HDEL', key, 'pu', 'pr'); wakeLanes(none)
elseif action == 'block' then call('HSET', key, 'ku', ms(till), 'kr', ARGV[9]); wakeLanes(none)
elseif action == 'unblock' then call('HDEL', key, 'ku', 'kr')
elseif action == 'delay' then
  call('HSET', key, 'og', value, 'oe', ms(till), 'or', ARGV[9])
  wakeLanes(function(agent) return math.max(0, tonumber(value) - tonumber(call('HGET', key, 'g:' .. agent) or '0')) end)
elseif action == 'refetch' then
  call('HSET', key, 'rf', call('HGET', key, 'v') or '0')
  wakeLanes(none)
end
noteChange(origin)
local left = call('PTTL', key)
if left < life then
  -- the robots state does not live on by this: it ends with its bodies
  if call('HEXISTS', key, 's') == 1 then call('HSETNX', key, 'se', ms(now + left)) end
  call('PEXPIRE', key, life)
end
call('XADD', P .. 'operations', 'MAXLEN', '~', 10000, '*', 'at', ms(now), 'by', ARGV[8], 'action', action, 'origin', origin, 'value', value, 'until', ms(till), 'reason', ARGV[9])
flush()
return { epochId, ms(now), 'done' }
