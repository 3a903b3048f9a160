--[[
  write-tags: sets the partitions of the ledger.

  KEYS[1]  their tags, a list;  KEYS[2]  the retired tags, a list;  KEYS[3]  how many changes have begun
  ARGV     change: the caller's number;  count: number of tags; then these tags, followed by the retired ones
  Returns  the error OVERTAKEN when another change has begun since
]]
if redis.call('GET', KEYS[3]) ~= ARGV[ARG.change] then
  return redis.error_reply('OVERTAKEN change')
end
redis.call('DEL', KEYS[1], KEYS[2])
local last = ARG.items - 1 + tonumber(ARGV[ARG.count])
redis.call('RPUSH', KEYS[1], unpack(ARGV, ARG.items, last))
if #ARGV > last then redis.call('RPUSH', KEYS[2], unpack(ARGV, last + 1)) end
