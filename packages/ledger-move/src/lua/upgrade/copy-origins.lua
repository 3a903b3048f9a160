--- @include "lib/guard"
--[[
  copy-origins: fields of origins under their names of now, beside the earlier ones, which stay until the upgrade is
  over.

  KEYS     as guard
  ARGV     count: of names; then as many earlier names, as many names of now, and origins
]]
local n = tonumber(ARGV[ARG.count])
local earlier = { unpack(ARGV, ARG.items, ARG.items - 1 + n) }
local names = { unpack(ARGV, ARG.items + n, ARG.items - 1 + 2 * n) }
for i = ARG.items + 2 * n, #ARGV do
  local key = TAG .. KEY.origin .. ARGV[i]
  local found, writes = call('HMGET', key, unpack(earlier)), {}
  --[[rule:a-copy-replaces-an-earlier-one]] call('HDEL', key, unpack(names)) --[[end]]
  for k = 1, n do
    if found[k] then writes[#writes + 1] = names[k]; writes[#writes + 1] = found[k] end
  end
  if #writes > 0 then call('HSET', key, unpack(writes)) end
end
