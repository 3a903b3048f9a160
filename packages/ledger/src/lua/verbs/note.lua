--- @include "lib/notes"
--- @include "lib/gates"
--[[
  note: writes recent events for operators. No decision depends on notes, so a process that dies before it has written
  its notes does no harm.
  ARGV    tallies, JSON: name of a count in {tag}:counts → number to add
          then NOTE_ITEM in calls.ts, repeated
  Returns 'noted'
]]
for i = ARG.items, #ARGV, NOTE_ITEM.size do
  local origin, reason, text = ARGV[i + NOTE_ITEM.origin], ARGV[i + NOTE_ITEM.reason], ARGV[i + NOTE_ITEM.text]
  if ARGV[i + NOTE_ITEM.backOff] ~= '' then
    local o = factsOf(' ' .. origin) -- a lane's name with no agent: only facts about the origin are read
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
