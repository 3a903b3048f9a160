--- @include "lib/guard"
--[[
  put-epoch: fields of the partition's epoch.

  KEYS     as guard
  ARGV     fields and values
]]
call('HSET', KEYS[1], unpack(ARGV, ARG.items))
