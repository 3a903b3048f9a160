--- @include "lib/guard"
--[[
  drop-entries: entries of a key whose hosts have left this partition.

  KEYS     as guard
  ARGV     name: of the key, behind the tag;  kind: as put-entries; then the fields or members
]]
local kind = ARGV[ARG.kind]
local drop = kind == 'hash' and 'HDEL' or kind == 'set' and 'SREM' or 'ZREM'
call(drop, TAG .. ARGV[ARG.name], unpack(ARGV, ARG.items))
