--- @include "lib/lane"
--- @include "lib/gates"
--[[
  turns: whose URL comes next in a lane that holds URLs of several crawls, and which crawls are held: paused or
  cancelled, or with as many unread outcomes as OUTCOMES_LIMIT allows. docs/decisions/0025-many-crawls.md.

  {tag}:t:<lane>  zset  crawl → its next turn. The least one is next. A turn of a crawl of weight w moves it on by 1/w.
                  Crawls of a lane that holds the default crawl alone have no turns, and of a lane that has them a crawl
                  without URLs has none.
  There is nothing to define where only the default crawl exists.
]]
local MOST_LOOKED_AT = 20 -- held crawls before one that is not held; behind more the lane is looked at again soon
local SOON_MS, LONGEST_MS, LANES_PER_MS = 500, 30000, 2 -- how often lanes are looked at that are held
local chooseList, standingOf
if hasCrawls then
  local standings, nextLook = {}, nil
  -- What a turn of a crawl takes, and whether it is held.
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
  -- When a held crawl is looked at again: late enough to cost little, however many lanes wait for it.
  local function laterLook()
    nextLook = nextLook or now + math.min(LONGEST_MS, math.max(SOON_MS, call('ZCARD', DUE) / LANES_PER_MS))
    return nextLook
  end
  -- The list of a crawl in which its next URL stands: those of priority high come first.
  local function nextListOf(crawl, lane)
    local high = listOf(LIST.high, crawl)
    local isHigh = --[[rule:high-urls-of-a-crawl-come-first]] call('EXISTS', listKey(high, lane)) == 1 --[[end]]
    return isHigh and high or listOf(LIST.normal, crawl)
  end

  -- The list whose URL comes next, nil where only the default crawl is asked; and until when it is held, or 0.
  chooseList = function(lane, others, attempts, list, heldBy)
    local turns = TAG .. KEY.turns .. lane
    local isTried, crawl = attempts ~= '', crawlOf(list)
    -- Where the turn before got no slot or worker, others have theirs, also before a head that was tried.
    local isPassed = others == OTHERS.crawls
      and --[[rule:a-tried-url-without-a-slot-is-passed-over]] (heldBy == GATE.share or heldBy == GATE.pool) --[[end]]
    if isTried and not isPassed and not standingOf(crawl)[2] then
      if others == OTHERS.crawls then call('ZINCRBY', turns, standingOf(crawl)[1], crawl) end
      return list, 0
    end
    if others ~= OTHERS.crawls then
      return isTried and list or nil, standingOf(CRAWLS.default)[2] and laterLook() or 0
    end
    local found = call('ZRANGE', turns, 0, MOST_LOOKED_AT - 1, 'WITHSCORES')
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
      -- What has expired ends, although its crawl is held.
      local waiting = nextListOf(name, lane)
      local first = firstIn(lane, waiting)
      if --[[rule:urls-of-held-crawls-expire]] first and expiryOf(first) <= now --[[end]] then
        return waiting, laterLook()
      end
      -- It goes behind all crawls that were looked at, so that it saves up no turns and the next look comes to others.
      moved[#moved + 1] = --[[rule:a-held-crawl-saves-no-turns]] tonumber(found[#found]) + standing[1] --[[end]]
      moved[#moved + 1] = name
    end
    call('ZADD', turns, unpack(moved))
    if not chosen then
      local till = #found < 2 * MOST_LOOKED_AT and laterLook() or now + SOON_MS
      return isTried and list or nextListOf(found[1], lane), till
    end
    return isTried and chosen == crawl and list or nextListOf(chosen, lane), 0
  end
end
