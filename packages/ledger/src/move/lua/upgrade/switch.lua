--- @include "lib/upgrade"
--[[
  switch: gives the partition its new layout, and records when. Least delays have a new form in this layout, so the
  stored ones are deleted; gateways write them again.

  KEYS     as guard
  Returns  the error OVERTAKEN when the partition is not being upgraded
  Keeps    a partition that was switched stays as it is.
]]
if isOfNow then return end
if not closedFrom then
  return redis.error_reply('OVERTAKEN change')
end
local function replace(key, by)
  call('UNLINK', key)
  if call('EXISTS', by) == 1 then call('RENAME', by, key) end
end
replace(TAG .. KEY.leases, NEXT_LEASES)
call('SUNIONSTORE', TAG .. KEY.heldByPolicy, TAG .. KEY.heldByPolicy, NEXT_HELD)
-- In the earlier layout, secondary leases were not in `inflight`. They and orders of pools take no slot of a fetcher.
local inFlight, secondary, pooled = TAG .. KEY.inFlight, TAG .. 'secondary', TAG .. 'pooled'
for _, lane in ipairs(call('ZRANGE', secondary, 0, -1)) do call('SADD', pooled, lane) end
replace(TAG .. KEY.slotless, pooled)
call('ZUNIONSTORE', inFlight, 2, inFlight, secondary)
call('UNLINK', NEXT_HELD, secondary)
call('HDEL', KEYS[1], EPOCH.leastDelays)
local t = call('TIME')
local to = call('EXISTS', TAG .. KEY.crawls) == 1 and LAYOUT.withCrawls or LAYOUT.version
local upgraded = closedFrom .. '>' .. to .. ' ' .. string.format('%.0f', t[1] * 1000 + t[2] / 1000)
call('HSET', KEYS[1], EPOCH.layout, to, EPOCH.upgraded, upgraded)
