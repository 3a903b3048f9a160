--- @include "lib/layout"
--[[
  step-back: the earlier version may go on. What was copied is dropped before.

  KEYS     as guard
  ARGV     to;  next: the key with the leases of now, behind the tag
  Returns  the error OVERTAKEN when the partition is not being upgraded
]]
if --[[rule:only-what-is-closed-steps-back]] not isClosed --[[end]] then
  return redis.error_reply('OVERTAKEN change')
end
call('UNLINK', TAG .. ARGV[ARG.next])
call('HSET', KEYS[1], EPOCH.layout, before)
