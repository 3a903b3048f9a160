--- @include "lib/guard"
--[[
  forget-leftovers: no name of the earlier layout is left in the partition.

  KEYS     as guard
]]
call('HDEL', KEYS[1], EPOCH.leftovers)
