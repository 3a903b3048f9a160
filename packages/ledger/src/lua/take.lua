--[[
  take: reserve lanes that are due, or say how long to wait.
  ARGV[4] limit          most lanes wanted (≤ 200)
  ARGV[5] aheadMs        lanes that open this soon are reserved too; begin keeps them waiting until they are open
  ARGV[6] reserveMs      a reservation that nobody begins ends after this
  ARGV[7] inFlightLimit  most lanes reserved or in flight: keeps the orders queue shallow
  ARGV[8] outcomesLimit  unread outcomes beyond which nothing is granted
  ARGV[9] peek           URLs shown per lane (≤ 100)
  Returns {epoch, now, 'taken', more, then per lane: lane, fence, notBefore, tries, list, heldBy, shutUntil, version,
           state, questionFence, questionUntil, n, url…} or {epoch, now, why, waitMs or ''}
  Keeps   a lane is in due or in inflight, never in both. An emptied lane stays in due as its cool-down and is dropped here.
]]
if holdUntil > now then return { epochId, ms(now), 'held', ms(holdUntil - now) } end
if redis.call('XLEN', P .. 'outcomes') >= tonumber(ARGV[8]) then return { epochId, ms(now), 'outcomes-full', '' } end
local room = tonumber(ARGV[7]) - redis.call('ZCARD', INFLIGHT)
local limit = math.min(tonumber(ARGV[4]), room, 200)
if limit <= 0 then return { epochId, ms(now), 'slots-full', '' } end
local found = redis.call('ZRANGE', DUE, '-inf', ms(now + tonumber(ARGV[5])), 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
local function nothingDue()
  local first = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
  return { epochId, ms(now), 'nothing-due', first and ms(math.max(0, tonumber(first) - now)) or '' }
end
if #found == 0 then return nothingDue() end

local out = { epochId, ms(now), 'taken', (#found == limit * 2) and '1' or '0' }
local fence = math.max(tonumber(redis.call('HGET', KEYS[1], 'fence') or '0'), math.floor(now * 1000))
local gone, taken, leases = {}, {}, {}
local ends = ms(now + tonumber(ARGV[6]))
local last = tonumber(ARGV[9]) - 1
for i = 1, #found, 2 do
  local lane, opens = found[i], tonumber(found[i + 1])
  local m = redis.call('HMGET', P .. 'm:' .. lane, 't', 'l', 'c', 'w')
  local list = 'q'
  local heads
  if m[1] then list = m[2]; heads = redis.call('LRANGE', P .. list .. ':' .. lane, 0, last)
  else
    heads = redis.call('LRANGE', P .. 'h:' .. lane, 0, last)
    if #heads > 0 then list = 'h' else heads = redis.call('LRANGE', P .. 'q:' .. lane, 0, last) end
  end
  if #heads == 0 then
    if opens <= now then gone[#gone + 1] = lane; redis.call('DEL', P .. 'm:' .. lane) end
  else
    local o = redis.call('HMGET', P .. 'o:' .. originOf(lane), 's', 'v', 'q', 'u', 'bu', 'pu')
    local back, pause = tonumber(o[5] or '0'), tonumber(o[6] or '0')
    local shut = math.max(back, pause)
    local expires = tonumber(string.match(heads[1], '^%S+ (%w+)') or '0', 36) * 1000
    if shut > opens and shut > now and expires > now then
      local clock = tonumber(m[3] or '0'); if clock == 0 then clock = opens end
      giveBack(lane, clock, math.min(shut, expires), pause >= back and 'paused' or 'back-off')
    else
      if m[3] then redis.call('HDEL', P .. 'm:' .. lane, 'c') end
      fence = fence + 1
      local f = string.format('%.0f', fence)
      gone[#gone + 1] = lane
      taken[#taken + 1] = ends; taken[#taken + 1] = lane
      leases[#leases + 1] = lane; leases[#leases + 1] = f .. '|' .. list .. '|' .. ms(opens) .. '|||'
      local at = #out
      out[at + 1] = lane; out[at + 2] = f; out[at + 3] = ms(opens); out[at + 4] = m[1] or '0'; out[at + 5] = list
      out[at + 6] = m[4] or ''; out[at + 7] = shut > now and ms(shut) or ''
      out[at + 8] = o[2] or '0'; out[at + 9] = o[1] or ''; out[at + 10] = o[3] or ''; out[at + 11] = o[4] or ''
      out[at + 12] = tostring(#heads)
      for h = 1, #heads do out[at + 12 + h] = heads[h] end
    end
  end
end
if #gone > 0 then redis.call('ZREM', DUE, unpack(gone)) end
if #taken == 0 then return nothingDue() end -- emptied and shut lanes only: coming again at once would find them again
redis.call('ZADD', INFLIGHT, unpack(taken))
redis.call('HSET', LEASES, unpack(leases))
redis.call('HSET', KEYS[1], 'fence', string.format('%.0f', fence))
return out
