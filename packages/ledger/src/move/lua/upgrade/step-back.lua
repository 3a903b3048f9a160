--- @include "lib/upgrade"
--[[
  step-back: gives up an upgrade: reopens the partition with its earlier layout.

  KEYS     as guard
  Returns  the error OVERTAKEN when the partition is not being upgraded
]]
if not closedFrom then
  return redis.error_reply('OVERTAKEN change')
end
call('UNLINK', NEXT_LEASES, NEXT_HELD)
call('HSET', KEYS[1], EPOCH.layout, closedFrom)
