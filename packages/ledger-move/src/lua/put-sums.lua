--- @include "lib/guard"
--[[
  put-sums: what a partition that is used no longer has counted goes on to count here.

  KEYS     as guard
  ARGV     name: of the hash, behind the tag;  from: the tag of the other partition;  day and today: as CRAWL in
           layout.ts
           has them, '' for none; then fields and what is added to each
  Keeps    counts are added once, however often the move is made again ({tag}:moved). Of two days the later one
           stays.
]]
local key = TAG .. ARGV[ARG.name]
local isNew = call('SADD', TAG .. KEY.moved, 'sum ' .. ARGV[ARG.from] .. ' ' .. ARGV[ARG.name]) == 1
if --[[rule:a-sum-that-came-is-added-once]] not isNew --[[end]] then return end
for i = ARG.items, #ARGV, 2 do call('HINCRBY', key, ARGV[i], ARGV[i + 1]) end
local day = ARGV[ARG.day]
if day == '' then return end
local known = tonumber(call('HGET', key, CRAWL.day) or '0')
if --[[rule:a-later-day-counts]] known > tonumber(day) --[[end]] then return
elseif known == tonumber(day) then call('HINCRBY', key, CRAWL.today, ARGV[ARG.today])
else call('HSET', key, CRAWL.day, day, CRAWL.today, ARGV[ARG.today]) end
