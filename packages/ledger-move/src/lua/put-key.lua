--- @include "lib/guard"
--[[
  put-key: a whole key in its new partition, in place of what an earlier try left there.

  KEYS     as guard
  ARGV     key: in full;  lifeMs: 0 for no end;  dump: as DUMP returns it
]]
call('RESTORE', ARGV[ARG.key], ARGV[ARG.lifeMs], ARGV[ARG.dump], 'REPLACE')
