--[[
  enter: one named lane, at once or in so many ms, for a request that no waiting URL asked for: the hop of a robots.txt
  into another origin is a visit there like any other.
  ARGV[4] lane, [5] leaseMs, [6] gapMs owed if nothing better is known
  Returns {epoch, now, 'granted', fence, gapMs} or {epoch, now, 'wait', ms}
  Keeps   the lease is a begun one: it ends by settle or by reap, and counts no attempt of the URL that may be at the head.
]]
local lane = ARGV[4]
local o = redis.call('HMGET', P .. 'o:' .. originOf(lane), 'bu', 'pu', 'ku', 'og', 'oe',
  'g:' .. string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1))
local opens = math.max(holdUntil, tonumber(o[1] or '0'), tonumber(o[2] or '0'), tonumber(o[3] or '0'))
local tries, list, kept, why, high = memOf(lane)
local clock = tonumber(kept ~= '' and kept or redis.call('ZSCORE', DUE, lane) or '0')
local leased = redis.call('ZSCORE', INFLIGHT, lane)
if leased then opens = math.max(opens, math.min(tonumber(leased), now + 50)) -- its holder may be done long before
else opens = math.max(opens, clock) end
if leased or opens > now then return { epochId, ms(now), 'wait', ms(math.max(1, opens - now)) } end
local fence = math.max(tonumber(redis.call('HGET', KEYS[1], 'fence') or '0'), math.floor(now * 1000)) + 1
local least = (o[5] and tonumber(o[5]) > now) and o[4] or ''
local f, gap = string.format('%.0f', fence), ms(math.max(tonumber(ARGV[6]), tonumber(o[6] or '0'), tonumber(least) or 0))
granted()
redis.call('HSET', KEYS[1], 'fence', f)
redis.call('ZREM', DUE, lane)
-- whoever wakes the lane later must not find the clock from before this visit
setMem(lane, tries, list, '', why, high)
redis.call('ZADD', INFLIGHT, ms(now + tonumber(ARGV[5])), lane)
setLease(lane, table.concat({ f, 'q', ms(now), ms(now), gap, 'hop', '', least }, '|'))
flush()
return { epochId, ms(now), 'granted', f, gap }
