--- @include "lib/notes"
--- @include "lib/gates"
--[[
  note: what happened lately, for an operator to see. Nothing is decided by it, so it does no harm when a process dies
  before it has written its notes.
  ARGV    tallies, JSON: what is counted with the notes, by its name among the counts
          NOTE_ITEM in calls.ts, again and again
  Returns 'noted'
]]
for i = ARG.items, #ARGV, NOTE_ITEM.size do
  local origin, reason, text = ARGV[i + NOTE_ITEM.origin], ARGV[i + NOTE_ITEM.reason], ARGV[i + NOTE_ITEM.text]
  if ARGV[i + NOTE_ITEM.backOff] ~= '' then
    local o = factsOf(' ' .. origin) -- of no agent
    local note = cjson.decode(text)
    if isAhead(o[FACTS.backOffUntil]) then note['until'] = tonumber(o[FACTS.backOffUntil]) end
    note.incidents, note.failures = tonumber(o[FACTS.incidents] or '0'), tonumber(o[FACTS.failures] or '0')
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
for name, n in pairs(cjson.decode(ARGV[ARG.tallies])) do call('HINCRBY', COUNTS, name, n) end
boundNotes()
return reply('noted')
