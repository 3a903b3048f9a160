--- @include "lib/guard"
--[[
  put-hash: fields of a hash that is the same in every partition.

  KEYS     as guard
  ARGV     name: of the hash, behind the tag;  isFirst: '1' drops what was there before; then fields and values. A
           value
           that is '' drops its field
]]
local key = TAG .. ARGV[ARG.name]
if ARGV[ARG.isFirst] == '1' then call('DEL', key) end
for i = ARG.items, #ARGV, 2 do
  if ARGV[i + 1] == '' then call('HDEL', key, ARGV[i]) else call('HSET', key, ARGV[i], ARGV[i + 1]) end
end
