--- @include "lib/upgrade"
--[[
  hold-lanes: adds lanes that a pause holds to the set of lanes that are woken together when any pause ends
  (lib/waking.lua of the ledger). One call reads some of the lanes.

  KEYS     as guard
  ARGV     as put-leases
  Returns  the next cursor, as put-leases; and how many of these lanes a pause holds
]]
local cursor, found = unpack(call('HSCAN', TAG .. KEY.lanes, ARGV[ARG.cursor], 'COUNT', ARGV[ARG.count]))
local held = {}
for i = 1, #found, 2 do
  local memory = { string.match(found[i + 1], MEMORY.pattern) }
  local isHeld = memory[MEMORY.ownDue] ~= '' and memory[MEMORY.heldBy] == GATE.paused
  if isHeld then held[#held + 1] = found[i] end
end
if #held > 0 then call('SADD', NEXT_HELD, unpack(held)) end
return { cursor, #held }
