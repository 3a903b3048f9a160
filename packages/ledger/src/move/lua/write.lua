--- @include "lib/guard"
--[[
  write: commands of Redis, one after another in one step.

  KEYS     as guard
  ARGV     per command: how many words it has, and these; its keys are in full
]]
local at = ARG.items
while at < #ARGV do
  local last = at + ARGV[at]
  call(unpack(ARGV, at + 1, last))
  at = last + 1
end
