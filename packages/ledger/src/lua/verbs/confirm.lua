--- @include "lib/lease"
--- @include "lib/origin"
--[[
  confirm: asked by a holder that took long to connect: may the request still be sent?
  ARGV    per lane that a request holds CONFIRM_ITEM in calls.ts; the version is of the rules that it was judged by, '' for a
          secondary lease
  Returns per lane, in order: 'granted', or why not: stale (the lease is not the caller's any more), startup-hold, stopped,
          back-off (also a pause, a block or visiting hours), rules-changed
  Keeps   nothing changes: a caller that is refused gives back what it holds (resolve: unused, release).
]]
local function whyNot(lane, fence, version)
  local lease = leaseOf(lane)
  if not lease or --[[rule:confirm-minds-the-fence]] lease[LEASE.fence] ~= fence --[[end]] or not isStarted(lease) then return 'stale' end
  local held, gate = heldUntil(originOf(lane), true)
  if --[[rule:confirm-minds-a-stop]] held > now --[[end]] then return gate == GATE.stopped and 'stopped' or 'back-off' end
  local kind = lease[LEASE.kind]
  local inForce, backOffUntil, pausedUntil, blockedUntil, fetchFence = unpack(call('HMGET', originKey(originOf(lane)),
    FIELD.version, FIELD.backOffUntil, FIELD.pausedUntil, FIELD.blockedUntil, FIELD.fetchFence))
  -- A block ends the URLs of its own origin only: other origins of a pace group go on.
  if kind == KIND.paceGroup then blockedUntil = false end
  if --[[rule:confirm-minds-the-back-off]] isAhead(backOffUntil) --[[end]] or --[[rule:confirm-minds-the-pause]] isAhead(pausedUntil) --[[end]]
    or --[[rule:confirm-minds-the-block]] isAhead(blockedUntil) --[[end]] then return 'back-off' end
  if --[[rule:confirm-minds-the-rules]] version ~= '' and version ~= (inForce or '0') --[[end]] then return 'rules-changed' end
  if kind == KIND.robots and fetchFence ~= fence then return 'stale' end
end

local isHeld = --[[rule:confirm-minds-the-hold]] holdUntil > now --[[end]]
local out = reply()
for i = ARG.items, #ARGV, CONFIRM_ITEM.size do
  out[#out + 1] = isHeld and 'startup-hold'
    or whyNot(ARGV[i + CONFIRM_ITEM.lane], ARGV[i + CONFIRM_ITEM.fence], ARGV[i + CONFIRM_ITEM.version]) or 'granted'
end
return out
