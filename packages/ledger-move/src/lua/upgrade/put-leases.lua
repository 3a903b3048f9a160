--- @include "lib/guard"
--- @include "lib/lease-step"
--[[
  put-leases: leases as the new layout stores them, in a key of their own until the partition is switched.

  KEYS     as guard
  ARGV     next: the key, behind the tag; then lanes
]]
local found = call('HMGET', TAG .. KEY.leases, unpack(ARGV, ARG.items))
local ends = call('ZMSCORE', TAG .. 'secondary', unpack(ARGV, ARG.items))
for i = 1, #found do
  if found[i] then call('HSET', TAG .. ARGV[ARG.next], ARGV[ARG.items + i - 1], leaseOfNow(found[i], ends[i])) end
end
