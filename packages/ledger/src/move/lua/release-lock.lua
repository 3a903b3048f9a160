--[[
  release-lock: releases the lock of a change (take-lock.lua) that has ended.

  KEYS[1]  the lock
  ARGV     change: the caller's number
  Keeps    the lock of another change stays.
]]
if redis.call('GET', KEYS[1]) == ARGV[ARG.change] then
  redis.call('DEL', KEYS[1])
end
