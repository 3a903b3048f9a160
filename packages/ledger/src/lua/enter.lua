--[[
  enter: a visit, at once or in so many ms, to the first of these lanes that is open: one lane (the hop of a robots.txt into
  another origin), or the places of a pace group. 'robots': the visit asks for the robots.txt of its one lane's origin, for a
  person, and sets the origin's question as begin does; learn ends it.
  ARGV[4] leaseMs, [5] gapMs owed if nothing better is known, [6] kind: hop | clock | robots, then lanes
  Returns {epoch, now, 'granted', fence, gapMs, lane} or {epoch, now, 'wait', ms}
  Keeps   the lease is a begun one: it ends by settle or by reap, and counts no attempt of the URL that may be at the head.
]]
local lanes = {}
for i = 7, #ARGV do lanes[#lanes + 1] = ARGV[i] end
local asks = ARGV[6] == 'robots'
local key = P .. 'o:' .. originOf(lanes[1])
if asks then
  local asked = call('HMGET', key, 'q', 'u')
  if asked[1] and tonumber(asked[2]) > now then return { epochId, ms(now), 'wait', ms(tonumber(asked[2]) - now) } end
end
readForVisits(lanes)
local f, instant, gap = visit(lanes, asks and 'hop' or ARGV[6], tonumber(ARGV[5]), tonumber(ARGV[4]), 0)
if f and asks then
  local answered = now + math.max(tonumber(ARGV[2]), tonumber(ARGV[4]))
  call('HSET', key, 'q', f, 'u', ms(answered))
  noteChange(originOf(lanes[1]))
  local life = math.ceil(answered - now) + 86400000
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
flush()
flushVisits()
if not f then return { epochId, ms(now), 'wait', ms(math.max(1, instant - now)) } end
return { epochId, ms(now), 'granted', f, gap, visited[1] }
