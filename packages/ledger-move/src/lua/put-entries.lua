--- @include "lib/guard"
--[[
  put-entries: entries of a key whose hosts have come to this partition.

  KEYS     as guard
  ARGV     name: of the key, behind the tag;  kind: 'hash', 'set' or 'zset';  lifeMs: what is left of the life that
           the key
           has in the old partition, '' for no end; then the entries: of a hash field and value, of a set the
           member, of a
           sorted set score and member
  Keeps    the key lives at least as long as it would have lived where the entries come from.
]]
local key, kind, life = TAG .. ARGV[ARG.name], ARGV[ARG.kind], ARGV[ARG.lifeMs]
local wasThere = call('EXISTS', key) == 1
local put = kind == 'hash' and 'HSET' or kind == 'set' and 'SADD' or 'ZADD'
call(put, key, unpack(ARGV, ARG.items))
if life == '' then call('PERSIST', key)
else
  local left = call('PTTL', key)
  if not wasThere or (left >= 0 and left < tonumber(life)) then call('PEXPIRE', key, life) end
end
