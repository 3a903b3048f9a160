--[[
  renew-lock: extends the lock of a change (take-lock.lua) while the change goes on.

  KEYS     as take-lock
  ARGV     change: the caller's number;  lifeMs: as take-lock
  Keeps    a lock that has run out is taken again as long as no other change has begun since.
]]
if redis.call('GET', KEYS[2]) == ARGV[ARG.change] then
  redis.call('SET', KEYS[1], ARGV[ARG.change], 'PX', ARGV[ARG.lifeMs])
end
