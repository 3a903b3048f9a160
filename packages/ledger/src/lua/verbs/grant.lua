--- @include "lib/permit-turns"
--[[
  grant: grants permits, whose requests are sent by crawlers that are no fetchers of the fleet. A permit gets a
  secondary lease of its lane and, if it has a pace lane, also one of the pace lane: both leases or neither.
  ARGV    ARGS.grant in calls.ts, then per permit GRANT_ITEM:
          paceLane   the pace lane that the request needs besides its own lane, or ''
          version    of the rules that judged the URL
          delayMs    delay owed afterwards, unless a longer one is known
          requester  the name under which the permit keeps its place in the queue. A name 'x@crawl origin' means a
                     request of that crawl, which takes turns by the crawl's weight
  Returns per permit GRANTED or GRANT_WAIT, its parts joined by '|':
          granted: the request may be sent after waitMs; with fence and delay of the pace lane's lease
          wait: try again after waitMs; holder is 'url' or 'permit', whichever has the lane's lease, else ''
          or the reason why the permit is refused: blocked, rules-changed, refetch; or 'crawl-held|' and the record of
          the crawl, which is paused or has ended
  Keeps   a permit takes turns with the lane's own URLs. complete, resolve or reap ends its leases. While only the pace
          lane is closed, the permit keeps its place in the queues of both lanes.
]]
local ahead = tonumber(ARGV[ARG.aheadMs])
local lanes = {}
for i = ARG.items, #ARGV, GRANT_ITEM.size do
  lanes[#lanes + 1] = ARGV[i + GRANT_ITEM.lane]
  local paceLane = ARGV[i + GRANT_ITEM.paceLane]
  if paceLane ~= '' then lanes[#lanes + 1] = paceLane end
end
readLeases(lanes)
readForSecondary(lanes)

local JUDGED_AGAIN = { [GATE.blocked] = true, [GATE.rulesChanged] = true, [GATE.refetch] = true }

-- Grants one permit, whose item of ARGV begins at i.
local function grantOne(i)
  local lane, paceLane = ARGV[i + GRANT_ITEM.lane], ARGV[i + GRANT_ITEM.paceLane]
  local delay, leaseMs = tonumber(ARGV[i + GRANT_ITEM.delayMs]), tonumber(ARGV[i + GRANT_ITEM.leaseMs])
  local requester, judged = ARGV[i + GRANT_ITEM.requester], ARGV[i + GRANT_ITEM.version]
  local crawl = takesTurns(requester)
  local list = crawl and listOf(LIST.normal, crawl) or ''
  local request = {
    lanes = { lane }, kind = KIND.permit, delay = delay, leaseMs = leaseMs, ahead = ahead, requester = requester,
    of = '', gates = function(one, o, version) return GATES.permitGrant(one, o, version, judged, '', list) end,
  }
  local own = findLane(request)
  if JUDGED_AGAIN[own.gate] then return own.gate end
  if --[[rule:a-permit-of-a-held-crawl-is-answered-with-its-record]] own.gate == GATE.crawlHeld --[[end]] then
    return 'crawl-held|' .. crawlRecord(crawl)
  end
  local given, opens, owed, paceFence, paceOwed = acquireBoth(own, paceLane)
  if given then
    local out = { 'granted', --[[rule:a-permit-says-how-long-to-wait]] ms(opens - now) --[[end]], given, ms(owed) }
    if paceFence then out[5], out[6] = paceFence, ms(paceOwed) end
    takeTurn(lane, requester)
    countRequest(originOf(lane))
    return table.concat(out, '|')
  end
  local at, gate, holder = opens, owed, ''
  if not own.gate and own.held then holder = isSecondary(own.held[LEASE.kind]) and 'permit' or 'url' end
  return table.concat({ 'wait', ms(math.max(1, at - now)), gate or 'delay', holder }, '|')
end

local out = reply()
for i = ARG.items, #ARGV, GRANT_ITEM.size do out[#out + 1] = grantOne(i) end
flush()
flushSecondary()
return out
