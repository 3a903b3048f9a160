--- @include "lib/lane"
--[[
  park: stores URLs in their lanes, and outcomes that are known already in the stream. Calling it again changes nothing.
  ARGV    ARGS.park in calls.ts:
          markBy     'key': the mark is a key of its own; '': there is none; any other text is the token under which the caller holds
                     the lock of the BullMQ job that brought the chunk: the mark is a field of that job and ends with it
          markName   job or key;  chunk: its number;  markLifeMs: life of marks that are keys
          beyondMs   how long the chunk is remembered beyond its job, '0' for not at all: a frontier that did not hear that its job
                     was accepted adds it again under the same name
          singles    how many lanes get one plain URL; per lane SINGLE. Plain: of list q, under an id that a gateway has assigned and
                     that is never looked up
          then how many other lanes there are, and per lane GROUP, followed by
            of form q or h   plain URLs of that list
            of form '*'      URL_ITEM, its bucket '' when the id is not looked up
          then OUTCOME_ITEM to the end
  Returns parked, absorbed, outcomes; or 'full', then pairs of a lane's place (from 1) and the room left in it: nothing was written,
          and the caller turns what is too much into outcomes and calls again
  Keeps   a lane with URLs is due or has a lease; adding a URL never lowers a due time.
]]
local limit, markBy, markLife = tonumber(ARGV[ARG.laneLimit]), ARGV[ARG.markBy], ARGV[ARG.markLifeMs]
local isJob, hasMark = markBy ~= '' and markBy ~= 'key', markBy ~= ''
local markKey = TAG .. (isJob and KEY.candidateJob or KEY.mark) .. ARGV[ARG.markName]
local markField = 'parked:' .. ARGV[ARG.chunk]
local beyond = ARGV[ARG.beyondMs] ~= '0' and TAG .. KEY.mark .. ARGV[ARG.markName] .. ':' .. ARGV[ARG.chunk]
-- A caller that was away and has lost the lock must neither store nor mark anything: another gateway has the job or has finished it,
-- and a job of the same name may be a later one. The caller cannot complete the job either.
if (isJob and --[[rule:only-the-job-s-holder-parks]] call('GET', markKey .. ':lock') ~= markBy --[[end]])
  or --[[rule:a-chunk-is-parked-once]] (hasMark and call('HEXISTS', markKey, markField) == 1) --[[end]]
  or (beyond and call('EXISTS', beyond) == 1) then
  return reply('0', 'again', '0')
end

-- Lane by lane: name, form, number of URLs, place of the first.
local names, forms, sizes, places = {}, {}, {}, {}
local singles = tonumber(ARGV[ARG.singles])
for g = 1, singles do
  local at = ARG.items + (g - 1) * SINGLE.size
  names[g], forms[g], sizes[g], places[g] = ARGV[at + SINGLE.lane], LIST.normal, 1, at + SINGLE.url
end
local at = ARG.items + singles * SINGLE.size
local groups = tonumber(ARGV[at])
at = at + 1
for g = singles + 1, singles + groups do
  names[g], forms[g], sizes[g], places[g] = ARGV[at + GROUP.lane], ARGV[at + GROUP.form], tonumber(ARGV[at + GROUP.urls]), at + GROUP.size
  at = places[g] + sizes[g] * (forms[g] == '*' and URL_ITEM.size or 1)
end
readLanes(names)
local full = reply('full')
local nothingFull = #full
for g = 1, #names do
  local lane, n = names[g], sizes[g]
  local first, more = firstOf(lane)
  local length = (first and 1 or 0) + (more and call('LLEN', normalList(lane)) or 0)
  if memories[lane] then length = length + call('LLEN', highList(lane)) end
  if length + n > --[[rule:a-lane-has-a-limit]] limit --[[end]] then
    full[#full + 1] = tostring(g); full[#full + 1] = tostring(math.max(0, limit - length))
  end
end
if #full > nothingFull then return full end

local function isFresh(mark)
  return mark == '' or call('SET', TAG .. KEY.mark .. mark, '1', 'NX', 'PX', markLife)
end
local function isNew(bucket, number)
  return bucket == '' or --[[rule:a-stored-id-is-absorbed]] call('SADD', TAG .. KEY.ids .. bucket, number) == 1 --[[end]]
end
local parked, absorbed, outcomes = 0, 0, 0
local idle = {}
local function append(lane, list, n, url, ...)
  parked = parked + n
  if list == LIST.high then
    if call('RPUSH', highList(lane), url, ...) == n then idle[#idle + 1] = lane end
    changeMemory(lane)[MEMORY.hasHigh] = '1'
    return
  end
  local first, more = firstOf(lane)
  if --[[rule:the-head-stays]] not first --[[end]] then
    idle[#idle + 1] = lane
    setFirst(lane, url, n > 1)
    if n > 1 then call('RPUSH', normalList(lane), ...) end
  else
    --[[rule:a-lane-says-that-there-is-more]] if not more then setFirst(lane, first, true) end --[[end]]
    call('RPUSH', normalList(lane), url, ...)
  end
end
for g = 1, #names do
  local lane, form, n, place = names[g], forms[g], sizes[g], places[g]
  if form ~= '*' then append(lane, form, n, unpack(ARGV, place, place + n - 1))
  else
    local lists = { [LIST.normal] = {}, [LIST.high] = {} }
    for k = place, place + (n - 1) * URL_ITEM.size, URL_ITEM.size do
      if isFresh(ARGV[k + URL_ITEM.mark]) and isNew(ARGV[k + URL_ITEM.bucket], ARGV[k + URL_ITEM.number]) then
        local list = lists[ARGV[k + URL_ITEM.list]]
        list[#list + 1] = ARGV[k + URL_ITEM.url]
      else absorbed = absorbed + 1 end
    end
    for list, urls in pairs(lists) do
      if #urls > 0 then append(lane, list, #urls, unpack(urls)) end
    end
  end
end
-- A lane that was empty may be in no set, or its last delay still runs, which NX leaves as it is.
if #idle > 0 then
  local leased = call('HMGET', LEASES, unpack(idle))
  local added, instant = {}, ms(now)
  for i = 1, #idle do
    if --[[rule:a-lane-with-a-lease-is-not-due]] not leased[i] --[[end]] then added[#added + 1] = instant; added[#added + 1] = idle[i] end
  end
  if #added > 0 then
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    local fresh = call('ZADD', DUE, --[[rule:parking-keeps-the-due-time]] 'NX' --[[end]], unpack(added))
    if fresh > 0 and (not first or tonumber(first) > now) then call('PUBLISH', TAG .. KEY.wake, ms(now)) end
  end
end
for k = at, #ARGV, OUTCOME_ITEM.size do
  local bucket = ARGV[k + OUTCOME_ITEM.bucket]
  local isStored = bucket ~= '' and call('SISMEMBER', TAG .. KEY.ids .. bucket, ARGV[k + OUTCOME_ITEM.number]) == 1
  if not isStored and isFresh(ARGV[k + OUTCOME_ITEM.mark]) then
    call('XADD', OUTCOMES, '*', 'o', ARGV[k + OUTCOME_ITEM.json])
    countOutcome(ARGV[k + OUTCOME_ITEM.kind])
    outcomes = outcomes + 1
  else absorbed = absorbed + 1 end
end
if hasMark then
  call('HSET', markKey, markField, '1')
  if markBy == 'key' then call('PEXPIRE', markKey, markLife) end
  if beyond then call('SET', beyond, '1', 'PX', ARGV[ARG.beyondMs]) end
end
count('parked', parked)
count('absorbed', absorbed)
flush()
return reply(tostring(parked), tostring(absorbed), tostring(outcomes))
