--[[
  server-time: the clock of the server that holds a partition.

  KEYS[1]  any key of the partition: it routes the call
  Returns  seconds and microseconds, as TIME
]]
return redis.call('TIME')
