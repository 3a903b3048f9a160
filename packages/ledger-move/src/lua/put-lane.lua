--- @include "lib/guard"
--[[
  put-lane: a lane is in its new partition, after its lists and ids were copied there.

  KEYS     as guard
  ARGV     lane;  from: the tag of its old partition;  urls: how many it has;  due: when it is due;  record: its
           record in
           `lanes`, or ''; then per crawl that is not the default one its name and how many of the URLs are its own
  Keeps    URLs are counted once, however often the move is made again: {tag}:moved has the lanes that have come.
]]
local lane, from = ARGV[ARG.lane], ARGV[ARG.from]
if ARGV[ARG.record] ~= '' then call('HSET', TAG .. KEY.lanes, lane, ARGV[ARG.record]) end
call('ZADD', TAG .. KEY.due, ARGV[ARG.due], lane)
for i = ARG.items, #ARGV, 2 do
  call('HSET', KEYS[1], EPOCH.layout, LAYOUT.withCrawls)
  call('HSETNX', TAG .. KEY.crawls, ARGV[i], '0')
  call('SADD', TAG .. KEY.lanesOf .. ARGV[i], lane)
end
local isNew = call('SADD', TAG .. KEY.moved, 'lane ' .. from .. ' ' .. lane) == 1
if --[[rule:a-lane-that-came-is-counted-once]] isNew --[[end]] then
  call('HINCRBY', TAG .. KEY.counts, 'parked', ARGV[ARG.urls])
  for i = ARG.items, #ARGV, 2 do call('HINCRBY', TAG .. KEY.crawl .. ARGV[i], CRAWL.storedEver, ARGV[i + 1]) end
end
