--[[
  mark-new: marks a partition in which no script was ever run: no lease can be left there, as after an announced restart
  (lib/epoch.lua).
  KEYS  {tag}:epoch
  ARGV  leftMs: for how long a lease may be left despite the mark, so that nothing is granted; '0' if none can be left
        announced: a value of ANNOUNCED (layout.ts)
]]
if redis.call('EXISTS', KEYS[1]) == 1 then return end
redis.call('HSET', KEYS[1], EPOCH.restartAnnounced, ARGV[ARG.announced])
if ARGV[ARG.leftMs] ~= '0' then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[1], EPOCH.holdUntil, string.format('%.3f', t[1] * 1000 + t[2] / 1000 + ARGV[ARG.leftMs]))
end
