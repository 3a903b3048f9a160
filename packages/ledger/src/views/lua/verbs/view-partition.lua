--- @include "lib/due"
--[[
  view-partition: returns numbers about the whole partition; to read each of them costs O(1) or O(log n).
  Returns PARTITION_ROW in calls.ts, then alternating names and values of its counts
]]
local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
local row = {}
row[PARTITION_ROW.holdUntil], row[PARTITION_ROW.due] = ms(holdUntil), tostring(call('ZCOUNT', DUE, '-inf', ms(now)))
row[PARTITION_ROW.withoutLease], row[PARTITION_ROW.inFlight] = tostring(call('ZCARD', DUE)), tostring(slotsTaken())
row[PARTITION_ROW.unread], row[PARTITION_ROW.nextDue] = tostring(call('XLEN', OUTCOMES)), instantOf(first) or ''
for _, value in ipairs(call('HGETALL', COUNTS)) do row[#row + 1] = value end
return reply(unpack(row))
