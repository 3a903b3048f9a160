--- @include "lib/permit-turns"
--[[
  grant: the leases of permits: a crawler that is no fetcher of the fleet sends the request. Each is a secondary lease of its lane, and
  with it one of the pace lane, or neither.
  ARGV    ARGS.grant in calls.ts, then per permit GRANT_ITEM:
          paceLane   a lane that shares its pace with this one, or ''
          version    of the rules that the URL was judged by
          delayMs    owed if no longer delay is known
          requester      whose request it is: it keeps its place in line by this name. 'x@crawl origin' is a request of a crawl, which takes its
                     turn by the crawl's weight
  Returns per permit GRANTED or GRANT_WAIT, its parts joined by '|':
          granted: with waitMs when it opens that much later, and with the fence and the delay of the lease of the pace lane
          wait: to be asked again after waitMs; holder is 'url' or 'permit' where the lane has a lease
          or why there is none: blocked (by an operator), rules-changed, refetch (an operator wants robots.txt asked for again first);
          'crawl-held|' and the record of the crawl, which is paused or over
  Keeps   a permit takes turns with the lane's own URLs. It ends by complete, by resolve or by reap. When the pace lane is closed, the
          lane is given back in the same call and is due at its own time.
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

-- Why the lane cannot be leased now: its gate, and what it is leased for.
local function closedBy(lane, backOff, pause)
  if holdUntil > now then return 'startup-hold', '' end
  local held, gate = heldUntil(originOf(lane))
  if --[[rule:a-stop-is-the-answer-to-a-permit]] held > now --[[end]] then return gate, '' end
  if math.max(backOff, pause) > now then return pause >= backOff and GATE.paused or GATE.backOff, '' end
  local lease = leaseOf(lane)
  if not lease then return 'delay', '' end
  return GATE.laneBusy, isSecondary(lease[LEASE.kind]) and 'permit' or 'url'
end

local function wait(opens, gate, holder)
  return table.concat({ 'wait', ms(math.max(1, opens - now)), gate, holder }, '|')
end

-- Undoes the latest acquire, whose fence has not been returned to a caller.
local function giveUp(lane, opens)
  fence = fence - 1
  acquired[#acquired] = nil
  acquiredEnds[#acquiredEnds] = nil; acquiredEnds[#acquiredEnds] = nil
  endLease(lane, KIND.hop); makeDue(lane, opens)
end

-- One permit, whose item of ARGV begins at i.
local function grantOne(i)
  local lane, paceLane, delay = ARGV[i + GRANT_ITEM.lane], ARGV[i + GRANT_ITEM.paceLane], tonumber(ARGV[i + GRANT_ITEM.delayMs])
  local leaseMs, requester = tonumber(ARGV[i + GRANT_ITEM.leaseMs]), ARGV[i + GRANT_ITEM.requester]
  local version, refetchVersion, blockedUntil, backOffUntil, pausedUntil = unpack(call('HMGET', originKey(originOf(lane)),
    FIELD.version, FIELD.refetchVersion, FIELD.blockedUntil, FIELD.backOffUntil, FIELD.pausedUntil))
  version = version or '0'
  if --[[rule:a-blocked-permit-ends]] isAhead(blockedUntil) --[[end]] then return 'blocked' end
  if --[[rule:grant-minds-the-rules]] version ~= ARGV[i + GRANT_ITEM.version] --[[end]] then return 'rules-changed' end
  if refetchVersion == version then return 'refetch' end
  local held = heldCrawl(requester)
  if held then return 'crawl-held|' .. held end
  local gate, holder = closedBy(lane, tonumber(backOffUntil or '0'), tonumber(pausedUntil or '0'))
  local given, opens, owed = acquire({ lane }, KIND.hop, delay, leaseMs, ahead, requester)
  if not given then return wait(opens, gate, holder) end
  if paceLane == '' then
    takeTurn(lane, requester)
    countRequest(originOf(lane))
    return table.concat({ 'granted', ms(math.max(0, opens - now)), given, owed }, '|')
  end
  local paceDelay = --[[rule:the-pace-lane-of-a-permit-owes-its-delay]] tonumber(owed) --[[end]]
  local paceFence, paceOpens, paceOwed = acquire({ paceLane }, KIND.paceGroup, paceDelay, leaseMs, ahead, requester)
  if not paceFence then
    --[[rule:a-closed-pace-lane-gives-the-lane-back]] giveUp(lane, opens) --[[end]]
    return wait(paceOpens, GATE.paceGroup, '')
  end
  takeTurn(lane, requester)
  countRequest(originOf(lane))
  return table.concat({ 'granted', ms(math.max(0, math.max(opens, paceOpens) - now)),
    given, owed, paceFence, paceOwed }, '|')
end

local out = reply()
for i = ARG.items, #ARGV, GRANT_ITEM.size do out[#out + 1] = grantOne(i) end
flush()
flushSecondary()
return out
