--- @include "lib/lease"
--[[
  confirm: whether a request whose connection took long may still be sent.
  ARGV    for each lane that the request holds, CONFIRM_ITEM in calls.ts: `version` is the version of the rules that
          judged the request, '' for a secondary lease
  Returns per lane, in order: 'granted', 'stale' (the lease is not the caller's any more), or the gate that is closed
  Keeps   nothing changes: a refused caller releases its leases with resolve (unused, release).
]]
local MAY_SEND = {
  [KIND.page] = GATES.pageSend, [KIND.robots] = GATES.robotsSend, [KIND.robotsPage] = GATES.robotsSend,
  [KIND.hop] = GATES.hopSend, [KIND.permit] = GATES.permitSend,
  [KIND.host] = GATES.hostSend, [KIND.paceGroup] = GATES.groupSend,
}
local function whyNot(lane, fence, judged)
  local lease = leaseOf(lane)
  if not befalls(LIFE.confirm, lease, fence) then return 'stale' end
  local kind, o = lease[LEASE.kind], factsOf(lane)
  if kind == KIND.robots and o[FACTS.fetchFence] ~= fence then return 'stale' end
  return (MAY_SEND[kind](lane, o, versionOf(o), judged, fence, listOfRequest(lease)))
end

local out = reply()
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  local lane, fence, version = ARGV[i + CONFIRM_ITEM.lane], ARGV[i + CONFIRM_ITEM.fence], ARGV[i + CONFIRM_ITEM.version]
  out[#out + 1] = whyNot(lane, fence, version) or 'granted'
end
return out
