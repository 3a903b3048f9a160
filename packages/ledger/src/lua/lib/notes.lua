--- @include "lib/epoch"
--[[
  notes: what happened to an origin lately, newest first. Each is JSON (notes.ts). At most KEPT.notes of an origin, of
  the KEPT.origins origins that had one last; a list ends by itself when nothing is added for KEPT.notesMs.
]]
local function addNote(origin, text)
  local key = TAG .. KEY.notes .. origin
  call('LPUSH', key, text)
  call('LTRIM', key, 0, KEPT.notes - 1)
  call('PEXPIRE', key, KEPT.notesMs)
  call('ZADD', TAG .. KEY.noted, ms(now), origin)
end

-- Notes of the origins that had one longest ago make room.
local function boundNotes()
  local key = TAG .. KEY.noted
  local beyond = call('ZCARD', key) - KEPT.origins
  if beyond > 0 then
    local gone = call('ZPOPMIN', key, math.min(beyond, 500))
    for i = 1, #gone, 2 do call('UNLINK', TAG .. KEY.notes .. gone[i]) end
  end
  call('PEXPIRE', key, KEPT.notesMs)
end
