--- @include "lib/epoch"
--[[
  notes: recent events of an origin, newest first. Each is JSON (notes.ts). At most KEPT.notes per origin, for the
  KEPT.origins origins with the latest notes; a list expires when nothing is added for KEPT.notesMs.
]]
local function addNote(origin, text)
  local key = TAG .. KEY.notes .. origin
  call('LPUSH', key, text)
  call('LTRIM', key, 0, KEPT.notes - 1)
  call('PEXPIRE', key, KEPT.notesMs)
  call('ZADD', TAG .. KEY.noted, ms(now), origin)
end

-- If more than KEPT.origins origins have notes, removes all notes of those origins whose latest note is oldest.
local function boundNotes()
  local key = TAG .. KEY.noted
  local beyond = call('ZCARD', key) - KEPT.origins
  if beyond > 0 then
    local gone = call('ZPOPMIN', key, math.min(beyond, 500))
    for i = 1, #gone, 2 do call('UNLINK', TAG .. KEY.notes .. gone[i]) end
  end
  call('PEXPIRE', key, KEPT.notesMs)
end
