--- @include "lib/record"
--- @include "lib/waking"
--[[
  stops: replaces all emergency stops of this partition.
  ARGV    ARGS.stops in calls.ts, then per name STOP_ITEM:
          expected    the version of the record from which this one was made, '' for any earlier one
          version     of this record; everything: when the stop of everything ends, '0' for no such stop
          record      all stops as JSON
          The ends of stops are instants of the clock of Redis, or STOPS.never.
  Returns 'written', 'kept' or 'overtaken' (lib/record.lua); and the version in force
]]
if --[[rule:stops-wait-for-the-clock]] inDoubt --[[end]] then return inDoubt end
local version, known = ARGV[ARG.version], versionIn(stopsText)
local kind = judgeRecord(known)
if kind ~= 'written' then return reply(kind, known) end
local function inLedgerTime(till)
  if till == STOPS.never then return till end
  return ms(tonumber(till) + --[[rule:a-stop-ends-by-the-clock-of-redis]] shift --[[end]])
end
local key, fields = TAG .. KEY.stops, { STOPS.record, ARGV[ARG.record] }
for i = ARG.items, #ARGV, STOP_ITEM.size do
  fields[#fields + 1], fields[#fields + 2] = ARGV[i + STOP_ITEM.name], inLedgerTime(ARGV[i + STOP_ITEM.till])
end
call('DEL', key)
call('HSET', key, unpack(fields))
local names = (#fields - 2) / 2
stopsText = string.format('%s %s %d', version, inLedgerTime(ARGV[ARG.everything]), names)
call('HSET', KEYS[1], EPOCH.stops, stopsText)
wakeHeld()
return reply(kind, version)
