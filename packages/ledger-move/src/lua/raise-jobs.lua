--- @include "lib/guard"
--[[
  raise-jobs: the number of the latest job of candidates is at least this one.

  KEYS     as guard
  ARGV     number
  Keeps    frontiers go on adding jobs meanwhile, so the number is only ever raised.
]]
local key = TAG .. KEY.candidateJob .. 'id'
if tonumber(call('GET', key) or '0') < tonumber(ARGV[ARG.number]) then
  call('SET', key, ARGV[ARG.number])
end
