--- @include "lib/guard"
--[[
  drop-key: what is not needed in this partition any more.

  KEYS     as guard
  ARGV     key: in full
]]
call('UNLINK', ARGV[ARG.key])
