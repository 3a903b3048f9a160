--- @include "lib/lane"
--- @include "lib/site-policy"
--[[
  waking: the lanes that visiting hours or a budget held when the policies were changed. They are woken some at a
  time: by the process that
  has changed the policies, and by every announcement of a process until none is left.
]]
local MOST_WOKEN = 200
local WAKING = TAG .. KEY.waking

-- Returns '1' when there are more. A lane that is woken is due at its own time.
local function wakeSome()
  local lanes = call('SPOP', WAKING, MOST_WOKEN)
  if #lanes == 0 then return '' end
  readLanes(lanes)
  local due = call('ZMSCORE', DUE, unpack(lanes))
  for i = 1, #lanes do
    local lane = lanes[i]
    local ownDue, heldBy = memoryOf(lane)[MEMORY.ownDue], memoryOf(lane)[MEMORY.heldBy]
    if due[i] and ownDue ~= '' and isByPolicy(heldBy) then
      changeMemory(lane)[MEMORY.ownDue] = ''
      setDue(lane, tonumber(ownDue))
    end
  end
  flush()
  return #lanes == MOST_WOKEN and '1' or ''
end
