--[[
  fleet: who is alive. Each process announces itself once a second; who is silent for 5 s is forgotten.
  ARGV[4] member 'role id slots' or '' (only read)   ARGV[5] life in ms (0: goodbye)
  Returns {epoch, now, leases out, member…}
]]
local key = P .. 'fleet'
call('ZREMRANGEBYSCORE', key, '-inf', ms(now))
if ARGV[4] ~= '' then
  if tonumber(ARGV[5]) > 0 then call('ZADD', key, ms(now + tonumber(ARGV[5])), ARGV[4])
  else call('ZREM', key, ARGV[4]) end
end
local out = { epochId, ms(now), tostring(call('ZCARD', INFLIGHT)) }
for _, member in ipairs(call('ZRANGE', key, 0, 999)) do out[#out + 1] = member end
return out
