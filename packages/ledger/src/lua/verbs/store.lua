--- @include "lib/lane"
--[[
  store: stores a chunk of URLs in their lanes, and outcomes of other URLs in the stream. A mark records that a chunk is
  stored: a second call with a marked chunk changes nothing.
  ARGV    ARGS.store in calls.ts:
          markBy     'key': the mark is a separate key; '': there is no mark; any other text is the token under which
                     the caller holds the lock of the BullMQ job that brought the chunk: then the mark is a field of
                     that job, and ends with the job
          markName   job or key;  chunk: its number;  markLifeMs: life of marks that are keys
          beyondMs   how long the chunk is remembered after its job has ended, '0' for not at all: a frontier that did
                     not learn that its job was accepted adds it again under the same name
          singles    number of lanes that get one plain URL; then per lane SINGLE. A plain URL goes to list q, under an
                     id that a gateway has assigned and that is never looked up
          then the number of other lanes, and per lane GROUP, followed by
            if form is a list   plain URLs of that list
            if form is '*'      per URL URL_ITEM, all of one crawl; its bucket is '' when the id is not looked up
          A lane occurs once for each crawl from which it gets URLs; lists are named as in LIST in layout.ts. For a
          crawl other than the default one, GROUP has the registrable domain of the lane's host, and how many URLs of
          that domain the other partitions took in.
          then OUTCOME_ITEM to the end, its crawl '' for the default one
  Returns the numbers of URLs stored, of items absorbed and of outcomes written;
          or 'full', then in groups of three: a lane's place (from 1), the room left in it, and the reason for the
          outcomes of the URLs beyond that room. Nothing is written in this case: the caller turns these URLs into
          outcomes, and calls again;
          or 'outcomes-full', with nothing written, if a crawl that would get an outcome has outcomesLimit unread ones
  Keeps   a lane with URLs is due or has a lease; adding a URL never lowers a due time. If a gate holds a lane beyond
          the expiry of a new first URL, the lane is read at that expiry, but no sooner than at its own due time.
]]
local limit, markBy, markLife = tonumber(ARGV[ARG.laneLimit]), ARGV[ARG.markBy], ARGV[ARG.markLifeMs]
local isJob, hasMark = markBy ~= '' and markBy ~= 'key', markBy ~= ''
local markKey = TAG .. (isJob and KEY.candidateJob or KEY.mark) .. ARGV[ARG.markName]
local markField = 'parked:' .. ARGV[ARG.chunk]
local beyond = ARGV[ARG.beyondMs] ~= '0' and TAG .. KEY.mark .. ARGV[ARG.markName] .. ':' .. ARGV[ARG.chunk]
-- A caller that was frozen and has lost the lock must neither store nor mark anything: another gateway has the job or
-- has finished the job, and a job of the same name may be a new one. The caller cannot complete the job either.
if (isJob and --[[rule:only-the-job-s-holder-stores]] call('GET', markKey .. ':lock') ~= markBy --[[end]])
  or --[[rule:a-chunk-is-stored-once]] (hasMark and call('HEXISTS', markKey, markField) == 1) --[[end]]
  or (beyond and call('EXISTS', beyond) == 1) then
  return reply('0', 'again', '0')
end

-- Four values per lane: its name, its form, its number of URLs, and the place of its first URL in ARGV.
local names, forms, sizes, places = {}, {}, {}, {}
-- domains: lane → '@' and the registrable domain of its host;  elsewhere: number of the lane → how many URLs of that
-- domain the other partitions took in
local domains, elsewhere = {}, {}
local singles = tonumber(ARGV[ARG.singles])
for g = 1, singles do
  local at = ARG.items + (g - 1) * SINGLE.size
  names[g], forms[g], sizes[g], places[g] = ARGV[at + SINGLE.lane], LIST.normal, 1, at + SINGLE.url
end
local at = ARG.items + singles * SINGLE.size
local groups = tonumber(ARGV[at])
at = at + 1
for g = singles + 1, singles + groups do
  names[g], forms[g] = ARGV[at + GROUP.lane], ARGV[at + GROUP.form]
  sizes[g], places[g] = tonumber(ARGV[at + GROUP.urls]), at + GROUP.size
  domains[names[g]], elsewhere[g] = '@' .. ARGV[at + GROUP.domain], tonumber(ARGV[at + GROUP.elsewhere])
  at = places[g] + sizes[g] * (forms[g] == '*' and URL_ITEM.size or 1)
end
readLanes(names)
local full = reply('full')
local nothingFull = #full
-- For crawls with limits, the URLs of this call that are within the limits so far: crawl → number; 'crawl host' →
-- number for the host; 'crawl @domain' → number for the domain. nil while no crawl with limits was found.
local coming
local today -- the current day (since 1970, by the clock of Redis); set together with `coming`
local function takenOf(crawl, name) return tonumber(call('HGET', TAG .. KEY.hostsOf .. crawl, name) or '0') end
for g = 1, #names do
  local lane, n, list = names[g], sizes[g], forms[g]
  if list == '*' then list = ARGV[places[g] + URL_ITEM.list] end
  local length, room, what = 0, limit, 'lane-full'
  if #list > 1 then
    -- The limit of a lane applies to each crawl separately: otherwise a large crawl would keep other crawls out.
    local crawl = crawlOf(list)
    length = call('LLEN', listKey(listOf(LIST.high, crawl), lane))
      + call('LLEN', listKey(listOf(LIST.normal, crawl), lane))
    local stored, perDay, perHost, perDomain, before, gone, day, ofDay = unpack(call('HMGET', crawlKey(crawl),
      CRAWL.stored, CRAWL.perDay, CRAWL.perHost, CRAWL.perDomain, CRAWL.storedEver, CRAWL.left, CRAWL.day, CRAWL.today))
    if stored or perDay or perHost or perDomain then
      if not coming then coming, today = {}, string.format('%.0f', math.floor((now - shift) / DAY_MS)) end
      local host, domain = crawl .. ' ' .. hostOf(lane), crawl .. ' ' .. domains[lane]
      local known = coming[crawl] or 0
      local function atMost(most, taken, reason)
        local free = math.max(0, tonumber(most) - taken)
        if --[[rule:a-crawl-has-limits]] length + free < room --[[end]] then room, what = length + free, reason end
      end
      if stored then atMost(stored, tonumber(before or '0') - tonumber(gone or '0') + known, 'crawl-full') end
      if perDay then atMost(perDay, (day == today and tonumber(ofDay) or 0) + known, 'crawl-per-day') end
      if perHost then atMost(perHost, takenOf(crawl, hostOf(lane)) + (coming[host] or 0), 'crawl-per-host') end
      if perDomain then
        atMost(perDomain, takenOf(crawl, domains[lane]) + elsewhere[g] + (coming[domain] or 0), 'crawl-per-domain')
      end
      local taken = math.max(0, math.min(n, room - length))
      coming[crawl] = known + taken
      coming[host], coming[domain] = (coming[host] or 0) + taken, (coming[domain] or 0) + taken
    end
  else
    local first, more = firstOf(lane)
    length = (first and 1 or 0) + (more and call('LLEN', normalList(lane)) or 0)
    if memories[lane] then length = length + call('LLEN', listKey(LIST.high, lane)) end
  end
  if length + n > --[[rule:a-lane-has-a-limit]] room --[[end]] then
    full[#full + 1] = tostring(g); full[#full + 1] = tostring(math.max(0, room - length)); full[#full + 1] = what
  end
end
if #full > nothingFull then return full end
-- No outcomes are added to a crawl that already has `outcomesLimit` unread outcomes.
local hasRoom, outcomesLimit = {}, tonumber(ARGV[ARG.outcomesLimit])
for k = at, #ARGV, OUTCOME_ITEM.size do
  local crawl = ARGV[k + OUTCOME_ITEM.crawl]
  if not hasRoom[crawl] then
    local unread = call('XLEN', crawl == '' and OUTCOMES or OUTCOMES .. ':' .. crawl)
    if unread >= outcomesLimit then return reply('outcomes-full') end
    hasRoom[crawl] = true
  end
end

local function isFresh(mark)
  return mark == '' or call('SET', TAG .. KEY.mark .. mark, '1', 'NX', 'PX', markLife)
end
local function isNew(bucket, number)
  return bucket == ''
    or --[[rule:a-stored-id-is-absorbed]] call('SADD', TAG .. KEY.ids .. bucket, number) == 1 --[[end]]
end
local function registerCrawl(crawl)
  call('HSETNX', TAG .. KEY.crawls, crawl, '0') -- a consumer group may already have registered it
  if hasCrawls then return end
  hasCrawls = true
  call('HSET', KEYS[1], EPOCH.layout, LAYOUT.withCrawls)
end
local stored, absorbed, outcomes = 0, 0, 0
local idle, newFirst = {}, {} -- lanes in which an empty list got URLs; and the new first URL of each such list
local function append(lane, list, n, url, ...)
  stored = stored + n
  if list == LIST.normal then
    local first, more = firstOf(lane)
    if --[[rule:the-first-url-stays]] not first --[[end]] then
      idle[#idle + 1], newFirst[#newFirst + 1] = lane, url
      setFirst(lane, url, n > 1)
      if n > 1 then call('RPUSH', normalList(lane), ...) end
    else
      --[[rule:a-lane-says-that-there-is-more]] if not more then setFirst(lane, first, true) end --[[end]]
      call('RPUSH', normalList(lane), url, ...)
    end
  else
    if memoryOf(lane)[MEMORY.hasHigh] ~= OTHERS.crawls then
      -- From the first URL of a crawl other than the default one on, crawls take turns in this lane.
      if #list > 1 and --[[rule:the-default-crawl-takes-turns]] hasWork(lane) --[[end]] then
        call('ZADD', TAG .. KEY.turns .. lane, 0, CRAWLS.default)
      end
      changeMemory(lane)[MEMORY.hasHigh] = #list > 1 and OTHERS.crawls or OTHERS.high
    end
    if call('RPUSH', listKey(list, lane), url, ...) == n then
      idle[#idle + 1], newFirst[#newFirst + 1] = lane, url
    end
  end
  if memoryOf(lane)[MEMORY.hasHigh] ~= OTHERS.crawls then return end
  local crawl, turns = crawlOf(list), TAG .. KEY.turns .. lane
  if not call('ZSCORE', turns, crawl) then
    local soonest = tonumber(call('ZRANGE', turns, 0, 0, 'WITHSCORES')[2] or '0')
    local weight = tonumber(call('HGET', crawlKey(crawl), CRAWL.weight) or '1')
    call('ZADD', turns, --[[rule:a-newcomer-waits-for-its-turn]] soonest + 1 / weight --[[end]], crawl)
    if #list > 1 then call('SADD', TAG .. KEY.lanesOf .. crawl, lane) end
  end
  if #list == 1 then return end
  local key, hosts = crawlKey(crawl), TAG .. KEY.hostsOf .. crawl
  call('HINCRBY', key, CRAWL.storedEver, n)
  if coming and coming[crawl] then
    local perDay, perHost, perDomain, day = unpack(call('HMGET', key, CRAWL.perDay, CRAWL.perHost, CRAWL.perDomain,
      CRAWL.day))
    if perDay and day ~= today then call('HSET', key, CRAWL.day, today, CRAWL.today, n)
    elseif perDay then call('HINCRBY', key, CRAWL.today, n) end
    if perHost then call('HINCRBY', hosts, hostOf(lane), n) end
    if perDomain then call('HINCRBY', hosts, domains[lane], n) end
  end
  registerCrawl(crawl)
end
for g = 1, #names do
  local lane, form, n, place = names[g], forms[g], sizes[g], places[g]
  if form ~= '*' then append(lane, form, n, unpack(ARGV, place, place + n - 1))
  else
    local lists = {}
    for k = place, place + (n - 1) * URL_ITEM.size, URL_ITEM.size do
      if isFresh(ARGV[k + URL_ITEM.mark]) and isNew(ARGV[k + URL_ITEM.bucket], ARGV[k + URL_ITEM.number]) then
        local name = ARGV[k + URL_ITEM.list]
        local list = lists[name] or {}
        lists[name] = list
        list[#list + 1] = ARGV[k + URL_ITEM.url]
      else absorbed = absorbed + 1 end
    end
    for list, urls in pairs(lists) do
      append(lane, list, #urls, unpack(urls))
    end
  end
end
-- A lane that was empty is in no set, or is still in `due` while its last delay runs. NX keeps such a due time.
if #idle > 0 then
  local leased = call('HMGET', LEASES, unpack(idle))
  local added, instant = {}, ms(now)
  for i = 1, #idle do
    if --[[rule:a-lane-with-a-lease-is-not-due]] not leased[i] --[[end]] then
      added[#added + 1], added[#added + 2] = instant, idle[i]
    end
  end
  if #added > 0 then
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    local fresh = call('ZADD', DUE, --[[rule:storing-keeps-the-due-time]] 'NX' --[[end]], unpack(added))
    if fresh > 0 and (not first or tonumber(first) > now) then call('PUBLISH', TAG .. KEY.wake, ms(now)) end
  end
  for i = 1, #idle do
    if memories[idle[i]] then capAtExpiry(idle[i], expiryOf(newFirst[i])) end -- a lane without memory is not held
  end
end
for k = at, #ARGV, OUTCOME_ITEM.size do
  local bucket = ARGV[k + OUTCOME_ITEM.bucket]
  local isStored = bucket ~= '' and call('SISMEMBER', TAG .. KEY.ids .. bucket, ARGV[k + OUTCOME_ITEM.number]) == 1
  if not isStored and isFresh(ARGV[k + OUTCOME_ITEM.mark]) then
    local crawl = ARGV[k + OUTCOME_ITEM.crawl]
    if crawl == '' then call('XADD', OUTCOMES, '*', 'o', ARGV[k + OUTCOME_ITEM.json])
    else
      call('XADD', OUTCOMES .. ':' .. crawl, '*', 'o', ARGV[k + OUTCOME_ITEM.json])
      call('HINCRBY', crawlKey(crawl), string.match(ARGV[k + OUTCOME_ITEM.kind], '^[^/]+'), 1)
      registerCrawl(crawl)
    end
    count(ARGV[k + OUTCOME_ITEM.kind], 1)
    outcomes = outcomes + 1
  else absorbed = absorbed + 1 end
end
if hasMark then
  call('HSET', markKey, markField, '1')
  if markBy == 'key' then call('PEXPIRE', markKey, markLife) end
  if beyond then call('SET', beyond, '1', 'PX', ARGV[ARG.beyondMs]) end
end
count('parked', stored)
count('absorbed', absorbed)
flush()
return reply(tostring(stored), tostring(absorbed), tostring(outcomes))
