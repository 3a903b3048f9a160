--[[
  mark-new: marks a partition that was never called: no lease can be left there, as after an announced restart
  (lib/epoch.lua).
  KEYS  {tag}:epoch
  ARGV  leftMs: how long a lease may still be left, despite this;  announced: ANNOUNCED
]]
if redis.call('EXISTS', KEYS[1]) == 1 then return end
redis.call('HSET', KEYS[1], EPOCH.restartAnnounced, ARGV[ARG.announced])
if ARGV[ARG.leftMs] ~= '0' then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[1], EPOCH.holdUntil, string.format('%.3f', t[1] * 1000 + t[2] / 1000 + ARGV[ARG.leftMs]))
end
