--- @include "lib/guard"
--[[
  put-ids: ids of URLs are stored where their lane is.

  KEYS     as guard
  ARGV     how: 'SADD' in the new partition of the lane, 'SREM' in its old one; then per id its bucket and number
]]
for i = ARG.items, #ARGV, 2 do call(ARGV[ARG.how], TAG .. KEY.ids .. ARGV[i], ARGV[i + 1]) end
