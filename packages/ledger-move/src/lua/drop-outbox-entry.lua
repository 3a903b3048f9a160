--- @include "lib/guard"
--[[
  drop-outbox-entry: its candidate is stored already.

  KEYS     as guard
  ARGV     id: of the entry
]]
call('XDEL', TAG .. KEY.outbox, ARGV[ARG.id])
