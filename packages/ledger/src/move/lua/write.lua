--- @include "lib/guard"
--[[
  write: runs the given commands of Redis in one step, in order.

  KEYS     as guard
  ARGV     per command: its number of words, then the words, with keys in full
]]
local at = ARG.items
while at < #ARGV do
  local last = at + ARGV[at]
  call(unpack(ARGV, at + 1, last))
  at = last + 1
end
