--- @include "lib/secondary"
--[[
  acquire: grants a secondary lease of the first of the given lanes that is due, or returns when to try again. The lanes
  are a single one (for the hop of a robots.txt into another origin), or the lanes of a pace group.
  ARGV    ARGS.acquire in calls.ts, then the lanes:
          delayMs    delay owed afterwards, unless a longer one is known
          of         the lane that makes the request, or '': at least the delay of that lane is owed afterwards
          isRobots   '1': the hop is the robots fetch of its origin
          requester  the requesting lane, under whose name the request keeps its place in the queue, or ''
          paceLane   for a hop: the pace lane that is leased together with the lane of the hop, or ''
  Returns 'granted', fence, delayMs, lane, fence and delayMs of the pace lane or ''; or 'wait', ms, gate; or 'blocked'
  Keeps   the lease counts as started: complete, resolve or reap ends it. It counts no attempt for the lane's first URL.
          A hop waits while a robots fetch of its origin is in flight, whichever lease that robots fetch has.
]]
local RETRY_MS = 250 -- a robots fetch may end at any time, and its end wakes no request that waits for it
local lanes = {}
for i = ARG.items, #ARGV do lanes[#lanes + 1] = ARGV[i] end
local paceLane = ARGV[ARG.paceLane]
local all = paceLane ~= '' and { paceLane, unpack(lanes) } or lanes
local leaseMs, isHop = tonumber(ARGV[ARG.leaseMs]), ARGV[ARG.kind] == KIND.hop
local kind = isHop and KIND.hop or kindOfPaceLane(lanes[1])
readLeases(all)
readForSecondary(all)
local own = findLane({
  lanes = lanes, kind = kind, delay = tonumber(ARGV[ARG.delayMs]), ahead = 0, leaseMs = leaseMs,
  requester = ARGV[ARG.requester], of = ARGV[ARG.of], gates = isHop and GATES.hopGrant or PACE_GATES[kind],
})
if own.gate == GATE.blocked then return reply('blocked') end
local lane = own.lane
local given, instant, owed, paceFence, paceOwed = acquireBoth(own, paceLane)
if given and isHop then
  countRequest(originOf(lane))
  local isRobots = --[[rule:a-hop-that-fetches-robots-is-noted]] ARGV[ARG.isRobots] == '1' --[[end]]
  if isRobots then startRobotsFetch(originOf(lane), given, leaseMs) end
end
flush()
flushSecondary()
if given then return reply('granted', given, ms(owed), lane, paceFence or '', paceOwed and ms(paceOwed) or '') end
local gate = owed or GATE.paceGroup
local waits = math.max(1, instant - now)
return reply('wait', ms(gate == GATE.robotsInFlight and math.min(waits, RETRY_MS) or waits), gate)
