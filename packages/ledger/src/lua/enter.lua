--[[
  enter: a visit, at once or in so many ms, to the first of these lanes that is open: one lane (the hop of a robots.txt into
  another origin), or the places of a pace group.
  ARGV[4] leaseMs, [5] gapMs owed if nothing better is known, [6] kind: hop | clock, [7] the lane that asks, by which it has its
  place among others who wait, or '', then lanes
  Returns {epoch, now, 'granted', fence, gapMs, lane} or {epoch, now, 'wait', ms}
  Keeps   the lease is a begun one: it ends by settle or by reap, and counts no attempt of the URL that may be at the head.
]]
local lanes = {}
for i = 8, #ARGV do lanes[#lanes + 1] = ARGV[i] end
readForVisits(lanes)
local f, instant, gap = visit(lanes, ARGV[6], tonumber(ARGV[5]), tonumber(ARGV[4]), 0, ARGV[7])
flush()
flushVisits()
if not f then return { epochId, ms(now), 'wait', ms(math.max(1, instant - now)) } end
return { epochId, ms(now), 'granted', f, gap, visited[1] }
