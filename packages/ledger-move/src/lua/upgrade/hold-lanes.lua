--- @include "lib/guard"
--[[
  hold-lanes: lanes that a gate holds join the set of those that are woken when one of these gates opens.

  KEYS     as guard
  ARGV     lanes
]]
call('SADD', TAG .. KEY.heldByPolicy, unpack(ARGV, ARG.items))
