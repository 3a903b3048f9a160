--[[
  view: one origin with its lanes, lanes in the order of the lists that hold them, or the partition as a whole. Reads only;
  every part is O(1), O(log n) or bounded.
  ARGV[4] 'partition', or 'origin' with [5] origin and then agents, or 'lanes' with
      [5] order   soonest, latest: waiting lanes by the instant they open · in-flight: leases by the instant they are looked at
      [6] skip    so many of that order first     [7] limit   most lanes shown (≤ 200)
  Returns partition: {epoch, now, holdUntil, due now, lanes, in flight, unread, next due or '', counts…}
          origin:    {epoch, now, origin, then per agent a lane}
          lanes:     {epoch, now, then per lane: lane, origin}
          with lane:   name, waiting, due or '', its lease (reserved | started) or '', tries or '', why, head or '', its list
          and origin:  n, n × fields and values of the origin
]]
local out = { epochId, ms(now) }
if ARGV[4] == 'partition' then
  out = { epochId, ms(now), ms(holdUntil), tostring(call('ZCOUNT', DUE, '-inf', ms(now))), tostring(call('ZCARD', DUE)),
    tostring(call('ZCARD', INFLIGHT)), tostring(call('XLEN', P .. 'outcomes')), call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2] or '' }
  for _, value in ipairs(call('HGETALL', COUNTS)) do out[#out + 1] = value end
  return out
end

local function showOrigin(origin)
  local fields = call('HGETALL', P .. 'o:' .. origin)
  out[#out + 1] = tostring(#fields)
  for _, value in ipairs(fields) do out[#out + 1] = value end
end

local function showLane(lane)
  local tries, list, _, why = memOf(lane)
  local head = headOf(lane)
  local high, normal = call('LLEN', P .. 'h:' .. lane), head and 1 + call('LLEN', P .. 'q:' .. lane) or 0
  if list == '' then list = high > 0 and 'h' or 'q' end
  local at = #out
  out[at + 1] = lane
  out[at + 2] = tostring(high + normal)
  out[at + 3] = call('ZSCORE', DUE, lane) or ''
  local fence, _, _, started = leaseOf(lane)
  out[at + 4] = fence and (started == '' and 'reserved' or 'started') or ''
  out[at + 5] = tries
  out[at + 6] = why
  out[at + 7] = (list == 'q' and head or call('LINDEX', P .. list .. ':' .. lane, 0)) or ''
  out[at + 8] = list
end

if ARGV[4] == 'origin' then
  showOrigin(ARGV[5])
  for i = 6, #ARGV do showLane(ARGV[i] .. ' ' .. ARGV[5]) end
  return out
end

local first = tonumber(ARGV[6])
local last = first + math.min(tonumber(ARGV[7]), 200) - 1
local found
if ARGV[5] == 'in-flight' then found = call('ZRANGE', INFLIGHT, first, last)
elseif ARGV[5] == 'latest' then found = call('ZRANGE', DUE, first, last, 'REV')
else found = call('ZRANGE', DUE, first, last) end
readLanes(found)
readAll(LEASES, leaseRead, found)
for i = 1, #found do
  showLane(found[i])
  showOrigin(originOf(found[i]))
end
return out
