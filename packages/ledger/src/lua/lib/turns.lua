--- @include "lib/lane"
--- @include "lib/gates"
--[[
  turns: which crawl's URL comes next in a lane with several crawls, and which crawls are held: paused or cancelled, or
  with as many unread outcomes as OUTCOMES_LIMIT allows. docs/decisions/0025-many-crawls.md.

  {tag}:t:<lane>  zset  crawl → its next turn, a number. The crawl with the least number is next. Each turn adds 1/w to
                  the number of a crawl of weight w. A lane with only the default crawl has no turns; in any lane, a
                  crawl without URLs has none.
  In a ledger with only the default crawl, chooseList and standingOf are nil.
]]
local MOST_READ = 20 -- most crawls read to find one that is not held; a lane with more crawls is read again soon
local SOON_MS, LONGEST_MS, LANES_PER_MS = 500, 30000, 2 -- for laterCheck: when lanes of held crawls are read
local chooseList, standingOf
if hasCrawls then
  local standings, nextCheck = {}, nil
  -- Returns an array: the length of a crawl's turn (1/weight), and whether the crawl is held.
  standingOf = function(crawl)
    local standing = standings[crawl]
    if not standing then
      local stream = crawl == CRAWLS.default and OUTCOMES or OUTCOMES .. ':' .. crawl
      local weight = call('HGET', crawlKey(crawl), CRAWL.weight)
      local limit = tonumber(ARGV[ARG.outcomesLimit])
      standing = {
        --[[rule:a-heavier-crawl-has-more-turns]] 1 / tonumber(weight or '1') --[[end]],
        --[[rule:a-held-crawl-is-passed-over]] isCrawlHeld(crawl) --[[end]]
          or --[[rule:a-crawl-with-a-full-stream-is-held]] call('XLEN', stream) >= limit --[[end]],
      }
      standings[crawl] = standing
    end
    return standing
  end
  -- When a lane whose crawls are held is read again: late enough to cost little, however many such lanes there are.
  local function laterCheck()
    nextCheck = nextCheck or now + math.min(LONGEST_MS, math.max(SOON_MS, call('ZCARD', DUE) / LANES_PER_MS))
    return nextCheck
  end
  -- The list that holds a crawl's next URL in a lane: priority high comes first.
  local function nextListOf(crawl, lane)
    local high = listOf(LIST.high, crawl)
    local isHigh = --[[rule:high-urls-of-a-crawl-come-first]] call('EXISTS', listKey(high, lane)) == 1 --[[end]]
    return isHigh and high or listOf(LIST.normal, crawl)
  end

  -- The list whose URL comes next in a lane; nil if the lane has only the default crawl and no tried URL (reserve then
  -- chooses). And until when the crawl of that list is held, 0 if it is not held.
  chooseList = function(lane, others, attempts, list, heldBy)
    local turns = TAG .. KEY.turns .. lane
    local isTried, crawl = attempts ~= '', crawlOf(list)
    -- If the crawl's previous turn ended without a slot or a worker, other crawls come first, even before a URL of this
    -- crawl that was already tried.
    local isPassed = others == OTHERS.crawls
      and --[[rule:a-tried-url-without-a-slot-is-passed-over]] (heldBy == GATE.share or heldBy == GATE.pool) --[[end]]
    if isTried and not isPassed and not standingOf(crawl)[2] then
      if others == OTHERS.crawls then call('ZINCRBY', turns, standingOf(crawl)[1], crawl) end
      return list, 0
    end
    if others ~= OTHERS.crawls then
      return isTried and list or nil, standingOf(CRAWLS.default)[2] and laterCheck() or 0
    end
    local found = call('ZRANGE', turns, 0, MOST_READ - 1, 'WITHSCORES')
    if #found == 0 then return nil, 0 end
    local chosen
    local moved = {}
    for i = 1, #found, 2 do
      local name = found[i]
      local standing = standingOf(name)
      if not standing[2] then
        chosen = name
        moved[#moved + 1] = --[[rule:crawls-take-turns]] tonumber(found[i + 1]) + standing[1] --[[end]]
        moved[#moved + 1] = name
        break
      end
      -- A URL that has expired must end even while its crawl is held.
      local waiting = nextListOf(name, lane)
      local first = firstIn(lane, waiting)
      if --[[rule:urls-of-held-crawls-expire]] first and expiryOf(first) <= now --[[end]] then
        return waiting, laterCheck()
      end
      -- The held crawl moves behind all crawls that were read: it gathers no turns meanwhile, and other crawls are
      -- next.
      moved[#moved + 1] = --[[rule:a-held-crawl-saves-no-turns]] tonumber(found[#found]) + standing[1] --[[end]]
      moved[#moved + 1] = name
    end
    call('ZADD', turns, unpack(moved))
    if not chosen then
      local till = #found < 2 * MOST_READ and laterCheck() or now + SOON_MS
      return isTried and list or nextListOf(found[1], lane), till
    end
    return isTried and chosen == crawl and list or nextListOf(chosen, lane), 0
  end
end
