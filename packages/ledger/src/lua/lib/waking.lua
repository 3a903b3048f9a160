--- @include "lib/lane"
--[[
  waking: makes lanes due at their own time when the gate that holds them may have opened early. For an emergency stop,
  visiting hours or a budget, this is when the record of stops or policies has changed. For a pause, this is when any
  pause has ended, because the ports of a host are not listed. reserve wakes some of these lanes in each call.

  {tag}:closed  set of the lanes that such a gate holds;  {tag}:waking  set of the lanes that are still to be woken
]]
local MOST_WOKEN = 200 -- most lanes that one call of reserve wakes

-- To be called when a stop, visiting hours, a budget or a pause may have ended early: marks all lanes that such gates
-- hold as lanes to be woken.
local function wakeHeld()
  local waking, held = TAG .. KEY.waking, TAG .. KEY.heldByPolicy
  --[[rule:a-change-of-a-record-wakes-lanes]] call('SUNIONSTORE', waking, waking, held) --[[end]]
  call('DEL', held)
  call('PUBLISH', TAG .. KEY.wake, ms(now))
end

local function wakeLanes()
  local lanes = call('SPOP', TAG .. KEY.waking, MOST_WOKEN)
  if #lanes == 0 then return end
  readLanes(lanes)
  local due = call('ZMSCORE', DUE, unpack(lanes))
  for i = 1, #lanes do
    local lane = lanes[i]
    local ownDue, heldBy = memoryOf(lane)[MEMORY.ownDue], memoryOf(lane)[MEMORY.heldBy]
    if due[i] and ownDue ~= '' and --[[rule:waking-minds-the-gate]] isByRecord(heldBy) --[[end]] then
      changeMemory(lane)[MEMORY.ownDue] = ''
      setDue(lane, --[[rule:a-change-of-a-record-keeps-the-due-time]] tonumber(ownDue) --[[end]])
    end
  end
  flush()
end
