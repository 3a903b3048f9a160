--[[
  take-lock: takes the lock for a change of the whole ledger, so that there is only one such change at a time.

  KEYS[1]  the lock, a string: the number of the change that holds it;  KEYS[2]  how many changes have begun
  ARGV     lifeMs: after which the lock ends unless it is renewed
  Returns  the number of this change, or 0 while another change holds the lock
  Keeps    the numbers of changes only rise.
]]
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], number, 'PX', ARGV[ARG.lifeMs])
return number
