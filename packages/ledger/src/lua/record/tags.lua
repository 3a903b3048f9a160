--[[
  tags: writes the list of partitions if the list is missing, or was written by an earlier change of their number.
  KEYS     decorum:partitions and {decorum:partitions}:retired, two lists of tags; {decorum:partitions}:changes, the
           number of the latest change; {decorum:partitions}:new, the announcement of a Redis that is new, which ends
           with the first list
  ARGV     number: the change that produced the list;  count: number of tags; then the tags, followed by the retired
           ones
  Returns  'written', 'kept' (the list of this change is in force) or 'overtaken' (that of a later change is in force);
           and the number of the change in force
]]
local number, last = tonumber(ARGV[ARG.number]), ARG.items - 1 + tonumber(ARGV[ARG.count])
local known = tonumber(redis.call('GET', KEYS[3]) or '0')
redis.call('DEL', KEYS[4])
if redis.call('EXISTS', KEYS[1]) == 1 and known >= number then
  return { known == number and 'kept' or 'overtaken', known }
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('RPUSH', KEYS[1], unpack(ARGV, ARG.items, last))
if #ARGV > last then redis.call('RPUSH', KEYS[2], unpack(ARGV, last + 1)) end
if number > known then redis.call('SET', KEYS[3], number) end
return { 'written', math.max(known, number) }
