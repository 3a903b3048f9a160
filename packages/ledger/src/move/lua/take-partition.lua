--[[
  take-partition: from now on only this change of the whole ledger may write in the partition, and no earlier change.

  KEYS     as guard
  ARGV     change: the caller's number;  gate: a text such as `2>6` in place of the number of partitions, which
           closes the partition to every process that knows a number; '' leaves the partition open
  Returns  the error OVERTAKEN when the same or a later change has taken the partition
]]
local taken = tonumber(redis.call('HGET', KEYS[1], EPOCH.change) or '0')
if taken >= tonumber(ARGV[ARG.change]) then
  return redis.error_reply('OVERTAKEN change')
end
redis.call('HSET', KEYS[1], EPOCH.change, ARGV[ARG.change])
if ARGV[ARG.gate] ~= '' then redis.call('HSET', KEYS[1], EPOCH.partitions, ARGV[ARG.gate]) end
