--- @include "lib/epoch"
--[[
  stops: sets the emergency stops of this partition, all at once.
  ARGV    ARGS.stops in calls.ts, then per name STOP_ITEM:
          expected    the version that these were made from, or '' where that does not matter
          version     of these; everything: when the stop of everything ends, '0' when there is none; record: all of them as JSON
          Ends are instants of the clock of Redis, or STOPS.never.
  Returns 'written', 'kept' (this version is in force already) or 'overtaken'; and the version in force
  Keeps   a version before the one in force changes nothing.
]]
if --[[rule:stops-wait-for-the-clock]] inDoubt --[[end]] then return inDoubt end
local expected, version = ARGV[ARG.expected], ARGV[ARG.version]
local known = stopsText and string.match(stopsText, '^%d+') or '0'
if version == known then return reply('kept', known) end
if (expected ~= '' and expected ~= known) or --[[rule:older-stops-change-nothing]] tonumber(version) < tonumber(known) --[[end]] then
  return reply('overtaken', known)
end
local function inLedgerTime(till) return till == STOPS.never and till or ms(tonumber(till) + --[[rule:a-stop-ends-by-the-clock-of-redis]] shift --[[end]]) end
local key, fields = TAG .. KEY.stops, { STOPS.record, ARGV[ARG.record] }
for i = ARG.items, #ARGV, STOP_ITEM.size do
  fields[#fields + 1], fields[#fields + 2] = ARGV[i + STOP_ITEM.name], inLedgerTime(ARGV[i + STOP_ITEM.till])
end
call('DEL', key)
call('HSET', key, unpack(fields))
local names = (#fields - 2) / 2
call('HSET', KEYS[1], EPOCH.stops, string.format('%s %s %d', version, inLedgerTime(ARGV[ARG.everything]), names))
call('SUNIONSTORE', TAG .. KEY.waking, TAG .. KEY.waking, TAG .. KEY.heldByPolicy) -- reserve wakes the lanes that were stopped
call('DEL', TAG .. KEY.heldByPolicy)
call('PUBLISH', TAG .. KEY.wake, ms(now))
epochId = string.match(epochId, '^[^#]*') .. '#' .. version
return reply('written', version)
