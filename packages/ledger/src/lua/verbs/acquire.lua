--- @include "lib/secondary"
--[[
  acquire: a secondary lease, at once or in so many ms, of the first of these lanes that is due: one lane (the hop of a robots.txt
  into another origin), or the lanes that share the pace of a group.
  ARGV    ARGS.acquire in calls.ts, then the lanes:
          delayMs    owed if no longer delay is known
          of         the lane whose request it is for, or '': the delay known of it, or set by an operator, is owed at least. Of a
                     hop, its own lane
          isRobots   '1': the hop is the robots fetch of its origin
          heldFence  the fence under which the caller holds the lane of the hop already, or ''; then only the gates are looked at
          requester      the lane that asks, by which it keeps its place in line, or ''
  Returns 'granted', fence, delayMs, lane; or 'wait', ms; or 'blocked'
  Keeps   the lease is a started one: it ends by complete, by resolve or by reap, and counts no attempt of the first URL. A hop
          waits while a robots fetch of its origin is in flight, whoever holds the lane.
]]
local LOOK_AGAIN_MS = 250 -- a robots fetch may end at any time, and nothing tells those that wait for it here
local lanes = {}
for i = ARG.items, #ARGV do lanes[#lanes + 1] = ARGV[i] end
local delay, kind, heldFence, lane = tonumber(ARGV[ARG.delayMs]), ARGV[ARG.kind], ARGV[ARG.heldFence], ARGV[ARG.of]
local leaseMs, isRobots = tonumber(ARGV[ARG.leaseMs]), ARGV[ARG.isRobots] == '1'
local function answer(...)
  flush()
  flushSecondary()
  return reply(...)
end
readLeases(lanes)
readForSecondary(lanes)
if lane ~= '' then
  local knownDelay, overrideDelay, overrideUntil, blockedUntil, fetchFence, fetchUntil, backOffUntil, pausedUntil = unpack(
    call('HMGET', originKey(originOf(lane)), FIELD.delayOf .. agentOf(lane), FIELD.overrideDelay, FIELD.overrideUntil,
    FIELD.blockedUntil, FIELD.fetchFence, FIELD.fetchUntil, FIELD.backOffUntil, FIELD.pausedUntil))
  delay = math.max(delay, --[[rule:the-pace-lane-owes-the-known-delay]] tonumber(knownDelay or '0') --[[end]],
    isAhead(overrideUntil) and tonumber(overrideDelay) or 0)
  if kind == KIND.hop then
    if --[[rule:a-blocked-hop-ends]] isAhead(blockedUntil) --[[end]] then return answer('blocked') end
    local inFlightUntil = fetchFence and fetchFence ~= heldFence and tonumber(fetchUntil) or 0
    if --[[rule:a-hop-waits-for-a-robots-fetch]] inFlightUntil > now --[[end]] then
      return answer('wait', ms(math.min(inFlightUntil - now, LOOK_AGAIN_MS)))
    end
    if heldFence ~= '' then
      local lease = leaseOf(lane)
      local closedUntil = math.max(holdUntil, tonumber(backOffUntil or '0'), tonumber(pausedUntil or '0'),
        (heldUntil(originOf(lane))))
      if not lease or lease[LEASE.fence] ~= heldFence then return answer('wait', ms(LOOK_AGAIN_MS)) end
      if closedUntil > now then return answer('wait', ms(closedUntil - now)) end
      countRequest(originOf(lane))
      if isRobots and fetchFence ~= heldFence then startRobotsFetch(originOf(lane), heldFence, leaseMs) end
      return answer('granted', heldFence, ms(delay), lane)
    end
  end
end
local given, instant, owed = acquire(lanes, kind, delay, leaseMs, 0, ARGV[ARG.requester])
if not given then return answer('wait', ms(math.max(1, instant - now))) end
if kind == KIND.hop then countRequest(originOf(lane)) end
if --[[rule:a-hop-that-fetches-robots-is-noted]] isRobots --[[end]] then startRobotsFetch(originOf(lane), given, leaseMs) end
return answer('granted', given, owed, acquired[1])
