--- @include "lib/layout"
--[[
  drop-while-closed: drops keys while the partition is closed; later they are those of processes of now.

  KEYS     as guard
  ARGV     to; then keys, in full
]]
if --[[rule:orders-of-now-stay]] isClosed --[[end]] then call('UNLINK', unpack(ARGV, ARG.items)) end
