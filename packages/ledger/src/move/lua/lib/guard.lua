--[[
  guard: the beginning of every script that writes for a change of the whole ledger. A change that was frozen while
  another change began writes nothing.

  KEYS[1]  {tag}:epoch         its field EPOCH.change has the number of the change that may write in this partition
  KEYS[2]  {tag}:of:change     never exists: Redis refuses the call while the slot is half moved (KEY.partitions)
  ARGV     begins with `change`, the caller's number
  Returns  the error OVERTAKEN when another change may write here
]]
if redis.call('HGET', KEYS[1], EPOCH.change) ~= ARGV[ARG.change] then
  return redis.error_reply('OVERTAKEN change')
end
local KEYS, ARGV, call, tonumber, unpack = KEYS, ARGV, redis.call, tonumber, unpack
local TAG = string.sub(KEYS[1], 1, -1 - #KEY.epoch)
