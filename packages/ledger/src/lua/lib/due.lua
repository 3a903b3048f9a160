--- @include "lib/epoch"
--[[
  due: reads a score of the set `due` as an instant. The score of a lane in the line of due lanes (line.lua) is no
  instant but a negative number, its place. Such a lane became due at the first instant in `lined` whose turn is not
  before that place, or up to a second earlier.
]]
local function instantOf(due)
  if not due or tonumber(due) >= 0 then return due end
  local lined = TAG .. KEY.lined
  return call('ZRANGE', lined, due, '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1] or call('ZRANGE', lined, -1, -1)[1] or ms(now)
end
