--[[
  take-over: moves the entries of consumers that have sent nothing for a while to another consumer. The time since a
  consumer's last command decides, not the age of an entry: a slow reader that still sends heartbeats keeps its
  entries (XAUTOCLAIM would take them away).

  KEYS[1]  a stream of outcomes
  ARGV     group: the consumer group;  me: the consumer that gets the entries;  deadAfterMs: a consumer that has sent
           nothing for this long is dead;  most: the largest number of entries in one call
  Returns  the moved entries, in the form of XCLAIM's reply
  Keeps    a dead consumer without entries is removed: the name of a consumer is never used again.
]]
local stream, group, me = KEYS[1], ARGV[ARG.group], ARGV[ARG.me]
local taken = {}
for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
  local one = {}
  for i = 1, #row, 2 do one[row[i]] = row[i + 1] end
  local room = tonumber(ARGV[ARG.most]) - #taken
  local isDead = --[[rule:a-living-consumer-keeps-its-entries]] one.idle >= tonumber(ARGV[ARG.deadAfterMs]) --[[end]]
  if one.name ~= me and isDead then
    if --[[rule:a-consumer-with-entries-stays]] one.pending == 0 --[[end]] then
      redis.call('XGROUP', 'DELCONSUMER', stream, group, one.name)
    elseif --[[rule:so-many-at-once]] room > 0 --[[end]] then
      local ids = {}
      for n, held in ipairs(redis.call('XPENDING', stream, group, '-', '+', room, one.name)) do ids[n] = held[1] end
      for _, entry in ipairs(redis.call('XCLAIM', stream, group, me, 0, unpack(ids))) do taken[#taken + 1] = entry end
    end
  end
end
return taken
