--- @include "lib/lease"
--[[
  confirm: asked by a holder that took long to connect: may the request still be sent?
  ARGV    per lane that a request holds CONFIRM_ITEM in calls.ts; the version is of the rules that it was judged by, '' for a
          secondary lease
  Returns per lane, in order: 'granted', 'stale' (the lease is not the caller's any more), or the gate that is closed
  Keeps   nothing changes: a caller that is refused gives back what it holds (resolve: unused, release).
]]
local function whyNot(lane, fence, judged)
  local lease = leaseOf(lane)
  if not befalls(LIFE.confirm, lease, fence) then return 'stale' end
  local kind, o, origin = lease[LEASE.kind], factsOf(lane), originOf(lane)
  local version, list = versionOf(o), lease[LEASE.list]
  if kind == KIND.robots and o[FACTS.fetchFence] ~= fence then return 'stale' end
  if kind == KIND.page then return (GATES.pageSend(origin, o, version, judged, fence, list)) end
  if kind == KIND.robots or kind == KIND.robotsPage then return (GATES.robotsSend(origin, o, version, judged, fence, list)) end
  if kind == KIND.hop then return (GATES.hopSend(origin, o, version, judged, fence, '')) end
  if kind == KIND.permit then return (GATES.permitSend(origin, o, version, judged, fence, '')) end
  if kind == KIND.host then return (GATES.hostSend(origin, o, version, '', fence, '')) end
  return (GATES.groupSend(origin, o, version, '', fence, ''))
end

local out = reply()
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  out[#out + 1] = whyNot(ARGV[i + CONFIRM_ITEM.lane], ARGV[i + CONFIRM_ITEM.fence], ARGV[i + CONFIRM_ITEM.version]) or 'granted'
end
return out
