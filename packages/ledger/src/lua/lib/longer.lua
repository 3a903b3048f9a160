--- @include "lib/lane"
--- @include "lib/lease"
--[[
  longer: applies a delay that was just recorded or set for an origin, even while an earlier delay runs. The origin's
  lanes become due later if the new delay is longer than the delay that they owe. So does the host's lane, if its last
  request was made for one of these lanes. A request in flight owes the new delay when it ends (owed.lua).
]]
local function hostOriginOf(origin)
  return string.find(origin, '^https?://') and 'https://' .. hostOf(origin) or origin
end

local function lengthen(lane)
  local due = dueRead[lane] or call('ZSCORE', DUE, lane)
  if due then
    local ownDue = memoryOf(lane)[MEMORY.ownDue]
    local own = tonumber(ownDue ~= '' and ownDue or due)
    local opens = lengthened(lane, own)
    if opens == own then return end
    if ownDue ~= '' and tonumber(due) > opens then changeMemory(lane)[MEMORY.ownDue] = ms(opens)
    else
      if ownDue ~= '' then changeMemory(lane)[MEMORY.ownDue] = '' end
      setDue(lane, --[[rule:an-override-counts-while-a-delay-runs]] opens --[[end]])
    end
    return
  end
  local lease = leaseOf(lane)
  if lease and not isStarted(lease) then
    lease[LEASE.notBefore], lease[LEASE.version] = lengthened(lane, lease[LEASE.notBefore]), ''
    setLease(lane, lease)
  end
end

-- Lengthens the running delays of the lanes of the origin's host, one lane per agent: their last request may have been
-- made for this origin. step: number of arguments in an item of the call; each item begins with an agent
local function lengthenHostLanes(origin, step)
  local host = hostOriginOf(origin)
  if host == origin then return end
  for i = ARG.items, #ARGV, step do
    --[[rule:a-longer-delay-counts-for-the-host]] lengthen(ARGV[i] .. ' ' .. host) --[[end]]
  end
end
