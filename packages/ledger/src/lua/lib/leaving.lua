--- @include "lib/lane"
--- @include "lib/retry-after"
--[[
  leaving: writes outcomes into their stream, and removes the URLs of these outcomes from their lane.
  An item of ARGV is LEAVING in calls.ts: the outcome as JSON; its kind (for a page of a crawl other than the default
  one, the kind is followed by the bytes of the page); and the id of the URL as 'bucket:number', '' when the id is not
  stored. An item of the kind KIND.candidate is the target of a redirect. In place of an id it has the wait that the
  redirect requests: '' for none, else three parts, each of which may be missing: Retry-After in ms, Retry-After as a
  date, and when the candidate expires.
]]
local function writeOutcome(json, kind, list)
  if --[[rule:an-outcome-goes-to-its-crawl]] #list > 1 --[[end]] then
    local crawl = crawlOf(list)
    call('XADD', OUTCOMES .. ':' .. crawl, '*', 'o', json)
    local bytes
    kind, bytes = string.match(kind, '^(%S+) ?(%d*)$')
    call('HINCRBY', crawlKey(crawl), string.match(kind, '^[^/]+'), 1)
    if bytes ~= '' then call('HINCRBY', crawlKey(crawl), CRAWL.bytes, bytes) end
  else call('XADD', OUTCOMES, '*', 'o', json) end
  count(kind, 1)
end

-- Passes on the target of a redirect as a candidate. The redirect's Retry-After delays only this target (RFC 9110
-- §10.2.3), and no longer than until the candidate expires.
local function enter(json, waits, ended)
  local waitMs, waitAt, expires = string.match(waits, '^(%S*) (%S*) (%S*)$')
  local due = ended and waits ~= '' and ended + retryAfter(waitMs, waitAt, ended) or 0
  if expires and expires ~= '' then
    due = --[[rule:a-waiting-target-may-expire]] math.min(due, tonumber(expires) + shift) --[[end]]
  end
  if --[[rule:a-redirect-delays-its-target]] due > now --[[end]] then call('ZADD', TAG .. KEY.later, ms(due), json)
  else call('XADD', TAG .. KEY.outbox, '*', 'c', json) end
end

-- Writes the items of ARGV from `first` to `last`, both included. Returns how many of the items are outcomes of URLs.
-- list: the list that holds these URLs;  ended: when their exchange ended; nil for verbs that end no exchange
local function leave(first, last, list, ended)
  local urls = 0
  for k = first, last, LEAVING.size do
    local json, kind, id = ARGV[k + LEAVING.json], ARGV[k + LEAVING.kind], ARGV[k + LEAVING.id]
    if kind == KIND.candidate then enter(json, id, ended)
    else
      urls = urls + 1
      writeOutcome(json, kind, list)
      if id ~= '' then
        local bucket, number = string.match(id, '^([^:]*):(.*)$')
        --[[rule:an-id-is-free-after-its-outcome]] call('SREM', TAG .. KEY.ids .. bucket, number) --[[end]]
      end
    end
  end
  return urls
end

local left = 0 -- number of URLs that leave their lanes in this call

-- Removes the first n URLs from a list of a lane, and the number of attempts that was counted for the first of them.
local function dropFirst(lane, list, n)
  if --[[rule:the-first-url-leaves-its-own-list]] list ~= LIST.normal --[[end]] then
    call('LPOP', listKey(list, lane), n)
  else
    local _, more = firstOf(lane)
    local rest = more and call('LPOP', normalList(lane), n)
    --[[rule:the-next-url-moves-up]] setFirst(lane, rest and rest[n], true) --[[end]]
  end
  left = left + n
  local memory = memories[lane]
  if not memory then return end
  if memory[MEMORY.list] == list then
    memory = changeMemory(lane)
    memory[MEMORY.attempts], memory[MEMORY.list] = '', ''
  end
  if memory[MEMORY.hasHigh] ~= OTHERS.crawls then return end
  -- In a lane with several crawls, a crawl whose last URL has left loses its turn. A lane with only the default crawl
  -- has no turns.
  local crawl, isOver = crawlOf(list), nil
  if #list > 1 then
    call('HINCRBY', crawlKey(crawl), CRAWL.left, n)
    isOver = call('EXISTS', listKey(listOf(LIST.high, crawl), lane), listKey(listOf(LIST.normal, crawl), lane)) == 0
  else isOver = not firsts[lane] and call('EXISTS', listKey(LIST.high, lane)) == 0 end
  if --[[rule:a-crawl-without-urls-has-no-turn]] not isOver --[[end]] then return end
  local turns = TAG .. KEY.turns .. lane
  call('ZREM', turns, crawl)
  if #list > 1 then call('SREM', TAG .. KEY.lanesOf .. crawl, lane) end
  local others = call('ZRANGE', turns, 0, 1)
  if #others == 0 or (#others == 1 and others[1] == CRAWLS.default) then
    call('DEL', turns)
    changeMemory(lane)[MEMORY.hasHigh] = #others == 1 and OTHERS.high or ''
  end
end
flushes[#flushes + 1] = function() count('left', left) end
