--- @include "lib/lane"
--[[
  waking: lanes held by an emergency stop, visiting hours or a budget become due at their own time once the record of
  these has changed; so do lanes held by a pause once any pause has ended, since the ports of a host are not listed.
  reserve wakes them, some at a time.

  {tag}:closed  set of the lanes that such a gate holds;  {tag}:waking  lanes that are still to be woken after a change
]]
local MOST_WOKEN = 200

-- Wakes lanes after one of these gates has opened, or may have: the lanes that it held are due at their own time.
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
