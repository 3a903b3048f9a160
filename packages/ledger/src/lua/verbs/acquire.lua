--- @include "lib/secondary"
--[[
  acquire: a secondary lease, at once or in so many ms, of the first of these lanes that is due: one lane (the hop of a
  robots.txt into another origin), or the lanes that share the pace of a group.
  ARGV    ARGS.acquire in calls.ts, then the lanes:
          delayMs    owed if no longer delay is known
          of         the lane whose request it is for, where that is another one: its delay is owed at least
          isRobots   '1': the hop is the robots fetch of its origin
          requester      the lane that asks, by which it keeps its place in line, or ''
  Returns 'granted', fence, delayMs, lane; or 'wait', ms, gate; or 'blocked'
  Keeps   the lease is a started one: it ends by complete, by resolve or by reap, and counts no attempt of the URL at
          the head. A hop waits while a robots fetch of its origin is in flight, whoever holds the lane.
]]
local LOOK_AGAIN_MS = 250 -- a robots fetch may end at any time, and nothing wakes those that wait for it here
local lanes = {}
for i = ARG.items, #ARGV do lanes[#lanes + 1] = ARGV[i] end
local leaseMs, isHop = tonumber(ARGV[ARG.leaseMs]), ARGV[ARG.kind] == KIND.hop
local kind = isHop and KIND.hop or kindOfPaceLane(lanes[1])
readLeases(lanes)
readForSecondary(lanes)
local given, instant, owed, lane = acquire({
  lanes = lanes, kind = kind, delay = tonumber(ARGV[ARG.delayMs]), ahead = 0, leaseMs = leaseMs,
  requester = ARGV[ARG.requester], of = ARGV[ARG.of], gates = isHop and GATES.hopGrant or PACE_GATES[kind],
})
if given and isHop then
  countRequest(originOf(lane))
  local isRobots = --[[rule:a-hop-that-fetches-robots-is-noted]] ARGV[ARG.isRobots] == '1' --[[end]]
  if isRobots then startRobotsFetch(originOf(lane), given, leaseMs) end
end
flush()
flushSecondary()
if given then return reply('granted', given, ms(owed), lane) end
local gate = owed
if gate == GATE.blocked then return reply('blocked') end
local waits = math.max(1, instant - now)
return reply('wait', ms(gate == GATE.robotsInFlight and math.min(waits, LOOK_AGAIN_MS) or waits), gate)
