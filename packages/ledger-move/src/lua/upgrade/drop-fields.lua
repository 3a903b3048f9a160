--- @include "lib/guard"
--[[
  drop-fields: drops fields of origins.

  KEYS     as guard
  ARGV     count: of names; then these names, and origins
]]
local n = tonumber(ARGV[ARG.count])
for i = ARG.items + n, #ARGV do
  call('HDEL', TAG .. KEY.origin .. ARGV[i], unpack(ARGV, ARG.items, ARG.items - 1 + n))
end
