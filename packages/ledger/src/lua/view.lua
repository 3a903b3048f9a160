--[[
  view: one origin with its lanes, or the partition as a whole. Reads only; every part is O(1), O(log n) or bounded.
  ARGV[4] 'partition', or 'origin' with [5] origin and then agents
  Returns partition: {epoch, now, holdUntil, due now, lanes, in flight, unread, next due or '', counts…}
          origin:    {epoch, now, n, n × fields and values of the origin, then per agent:
                      lane, waiting, due or '', lease or '', tries or '', why, head or '', its list}
]]
if ARGV[4] == 'partition' then
  local out = { epochId, ms(now), ms(holdUntil), tostring(redis.call('ZCOUNT', DUE, '-inf', ms(now))), tostring(redis.call('ZCARD', DUE)),
    tostring(redis.call('ZCARD', INFLIGHT)), tostring(redis.call('XLEN', P .. 'outcomes')), redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or '' }
  for _, value in ipairs(redis.call('HGETALL', COUNTS)) do out[#out + 1] = value end
  return out
end
local origin = redis.call('HGETALL', P .. 'o:' .. ARGV[5])
local out = { epochId, ms(now), tostring(#origin) }
for _, value in ipairs(origin) do out[#out + 1] = value end
for i = 6, #ARGV do
  local lane = ARGV[i] .. ' ' .. ARGV[5]
  local tries, list, _, why = memOf(lane)
  local high, normal = redis.call('LLEN', P .. 'h:' .. lane), redis.call('LLEN', P .. 'q:' .. lane)
  if list == '' then list = high > 0 and 'h' or 'q' end
  local at = #out
  out[at + 1] = lane
  out[at + 2] = tostring(high + normal)
  out[at + 3] = redis.call('ZSCORE', DUE, lane) or ''
  out[at + 4] = redis.call('HGET', LEASES, lane) or ''
  out[at + 5] = tries
  out[at + 6] = why
  out[at + 7] = redis.call('LINDEX', P .. list .. ':' .. lane, 0) or ''
  out[at + 8] = list
end
return out
