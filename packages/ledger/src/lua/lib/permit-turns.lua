--- @include "lib/secondary"
--[[
  permit-turns: the permits of a crawl take turns by its weight with the stored URLs of a lane, and with permits of
  other crawls. Turns are those of turns.lua: numbers without a unit; the least is next, and a request moves its crawl
  on by 1/weight.

  {tag}:pt:<lane>  zset  crawl → its next turn, for a crawl that requests permits and has no URLs stored in this lane;
                   the key expires two hours after its last change. A crawl with URLs in the lane has one turn, in
                   t:<lane>, for its URLs and its permits.
  The queue of a lane (queue.lua) stays first come, first served for all requests that name no crawl, and for requests
  of the host's other origins. The remaining requests in the queue, which are permits that name a crawl and the lane's
  own URLs, exchange their places so that they stand in the order of their turns.
]]
local PERMIT_TURNS_LIFE_MS = 7200000
local MOST_STORED_CRAWLS = 20 -- most crawls with URLs in a lane whose turns are read
local weights = {}
local function weightOf(crawl)
  local weight = weights[crawl] or tonumber(call('HGET', crawlKey(crawl), CRAWL.weight) or '1')
  weights[crawl] = --[[rule:a-heavier-crawl-has-more-permits]] weight --[[end]]
  return weights[crawl]
end
local function crawlOfRequester(name) return string.match(name, '^[^ ]*@([^ @]+) ') end
takesTurns = function(requester) return hasCrawls and crawlOfRequester(requester) end
local function turnOf(lane, crawl)
  local stored = call('ZSCORE', TAG .. KEY.turns .. lane, crawl)
  local turn = --[[rule:a-crawl-with-urls-has-one-turn]] stored --[[end]]
    or call('ZSCORE', TAG .. KEY.permitTurns .. lane, crawl)
  return tonumber(turn), stored
end

-- The next turn of the URLs that are stored in a lane; nil if all their crawls are held. The default crawl of a lane
-- that has no turns yet gets its first turn here.
local function turnOfOwn(lane)
  local turns = TAG .. KEY.turns .. lane
  if memoryOf(lane)[MEMORY.hasHigh] ~= OTHERS.crawls then
    local soonest = call('ZRANGE', TAG .. KEY.permitTurns .. lane, 0, 0, 'WITHSCORES')[2]
    call('ZADD', turns, --[[rule:the-default-crawl-begins-with-the-next]] soonest or '0' --[[end]], CRAWLS.default)
    changeMemory(lane)[MEMORY.hasHigh] = OTHERS.crawls
  end
  local found = call('ZRANGE', turns, 0, MOST_STORED_CRAWLS - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local goesOn = --[[rule:a-held-crawl-keeps-no-permit-back]] not isCrawlHeld(found[i]) --[[end]]
    if goesOn then return tonumber(found[i + 1]) end
  end
end

-- Sorts the queue of a lane by turns. The request of `requester` is already in the queue, and so are the lane's own
-- URLs if they wait.
orderByTurns = function(lane, queue, requester)
  local crawl = crawlOfRequester(requester)
  local places, entries, soonest = {}, {}, nil
  for i = 1, #queue do
    local name = queue[i].name
    local own = name == lane
    local isOfLane = --[[rule:turns-are-between-requests-of-the-lane]] originOf(name) == originOf(lane) --[[end]]
    local other = not own and isOfLane and crawlOfRequester(name)
    if --[[rule:who-names-no-crawl-keeps-its-place]] own or other --[[end]] then
      local turn = own and turnOfOwn(lane) or other and other ~= crawl and turnOf(lane, other) or nil
      places[#places + 1] = i
      entries[#entries + 1] = { entry = queue[i], turn = turn, at = i, isRequester = other == crawl }
      if turn and (not soonest or turn < soonest) then soonest = turn end
    end
  end
  -- A crawl gains no turns by a long absence, and loses none by requests that it made while no other crawl waited.
  local turn, stored = turnOf(lane, crawl)
  if not stored then
    local step = 1 / weightOf(crawl)
    turn = turn or --[[rule:a-crawl-begins-after-the-next]] (soonest or 0) + step --[[end]]
    if soonest then
      turn = --[[rule:a-crawl-loses-nothing-by-early-requests]] math.min(soonest + step, turn) --[[end]]
      turn = --[[rule:a-crawl-gains-nothing-by-its-absence]] math.max(soonest - 1, turn) --[[end]]
    end
    call('ZADD', TAG .. KEY.permitTurns .. lane, turn, crawl)
    call('PEXPIRE', TAG .. KEY.permitTurns .. lane, PERMIT_TURNS_LIFE_MS)
  end
  for i = 1, #entries do
    if entries[i].isRequester then entries[i].turn = turn end
    entries[i].turn = entries[i].turn or --[[rule:who-has-no-turn-comes-last]] math.huge --[[end]]
  end
  table.sort(entries, function(one, other)
    if --[[rule:the-least-turn-is-next]] one.turn ~= other.turn --[[end]] then return one.turn < other.turn end
    return --[[rule:among-equal-turns-the-first-comes-first]] one.at < other.at --[[end]]
  end)
  for i = 1, #places do queue[places[i]] = entries[i].entry end
end

-- Advances the turn of a crawl whose permit was granted.
local function takeTurn(lane, requester)
  local crawl = takesTurns(requester)
  if not crawl then return end
  local _, stored = turnOf(lane, crawl)
  local key = --[[rule:a-permit-moves-the-one-turn]] stored and KEY.turns --[[end]] or KEY.permitTurns
  call('ZINCRBY', TAG .. key .. lane, --[[rule:a-permit-is-a-turn]] 1 / weightOf(crawl) --[[end]], crawl)
end
