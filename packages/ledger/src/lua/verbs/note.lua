--- @include "lib/notes"
--[[
  note: what happened lately, for an operator to see. Nothing is decided by it, so it does no harm when a process dies before it has written its notes.
  ARGV    NOTE_ITEM in calls.ts, again and again
  Returns 'noted'
]]
for i = ARG.items, #ARGV, NOTE_ITEM.size do
  local origin, reason, text = ARGV[i + NOTE_ITEM.origin], ARGV[i + NOTE_ITEM.reason], ARGV[i + NOTE_ITEM.text]
  if ARGV[i + NOTE_ITEM.backOff] ~= '' then
    local known = call('HMGET', TAG .. KEY.origin .. origin, FIELD.backOffUntil, FIELD.incidents, FIELD.failures)
    local note = cjson.decode(text)
    if known[1] and tonumber(known[1]) > now then note['until'] = tonumber(known[1]) end
    note.incidents, note.failures = tonumber(known[2] or '0'), tonumber(known[3] or '0')
    text = cjson.encode(note)
  end
  if origin ~= '' then addNote(origin, text) end
  if reason ~= '' then
    local key = TAG .. KEY.examples .. reason
    call('LPUSH', key, text)
    call('LTRIM', key, 0, KEPT.examples - 1)
    call('PEXPIRE', key, KEPT.examplesMs)
  end
end
boundNotes()
return reply('noted')
