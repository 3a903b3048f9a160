--- @include "lib/layout"
--[[
  switch: from here on the partition has its new layout, which is written down with the instant.

  KEYS     as guard
  ARGV     to;  next: the key with the leases of now, behind the tag;  keys: how many keys change their names; then
           pairs of the keys'
           earlier names and names of now, behind the tag, and pairs of the counts'
  Returns  the error OVERTAKEN when the partition is not being upgraded
  Keeps    a partition that was switched stays as it is.
]]
if isOfNow then return end
if --[[rule:only-what-is-closed-is-switched]] not isClosed --[[end]] then
  return redis.error_reply('OVERTAKEN change')
end
local counts = ARG.items + 2 * tonumber(ARGV[ARG.keys])
for i = ARG.items, counts - 1, 2 do
  if call('EXISTS', TAG .. ARGV[i]) == 1 then call('RENAME', TAG .. ARGV[i], TAG .. ARGV[i + 1]) end
end
local next = TAG .. ARGV[ARG.next]
call('UNLINK', TAG .. KEY.leases)
if call('EXISTS', next) == 1 then call('RENAME', next, TAG .. KEY.leases) end
local secondary = TAG .. 'secondary'
for _, lane in ipairs(call('ZRANGE', secondary, 0, -1)) do call('SADD', TAG .. KEY.slotless, lane) end
call('ZUNIONSTORE', TAG .. KEY.inFlight, 2, TAG .. KEY.inFlight, secondary)
call('UNLINK', secondary)
for i = counts, #ARGV, 2 do
  local count = call('HGET', TAG .. KEY.counts, ARGV[i])
  if count then
    call('HINCRBY', TAG .. KEY.counts, ARGV[i + 1], count)
    call('HDEL', TAG .. KEY.counts, ARGV[i])
  end
end
local t = call('TIME')
local upgraded = before .. '>' .. ofNow .. ' ' .. string.format('%.0f', t[1] * 1000 + t[2] / 1000)
call('HDEL', KEYS[1], EPOCH.leastDelays)
call('HSET', KEYS[1], EPOCH.layout, ofNow, EPOCH.upgraded, upgraded, EPOCH.leftovers, before)
