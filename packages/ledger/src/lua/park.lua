--[[
  park: URLs into their lanes, and outcomes that are already known into the stream; idempotent.
  ARGV[4] laneLimit
  ARGV[5] mark: 'key' (a key of its own) · '' · any other text: the token under which the caller holds the lock of the BullMQ job
          that carried the chunk; the mark is a field of that job and vanishes with it
  ARGV[6] job or key name, ARGV[7] chunk number, ARGV[8] life of marks in ms
  ARGV[9] life in ms of what is remembered of a job beyond itself, '0' for nothing: a producer who never heard that it was
          taken adds it again under its name
  ARGV[10] number of lanes that get one plain URL, then per lane: lane, url. Plain: of list q, under an id that a gateway has assigned
          and that nobody looks up
  then    number of other lanes, then per lane: lane, form, n, then by form
           'q', 'h'   n × url, plain but for the list
           '*'        n × (list, url, bucket, idNumber, mark or ''), bucket '' when the id is not to be looked up
  then outcomes to the end: json, kind, bucket, idNumber, mark or ''   (bucket as above)
  Returns {epoch, now, parked, absorbed, outcomes} or {epoch, now, 'full', then pairs: index of the lane (from 1), room left}:
          nothing was written, the caller turns what is too much into outcomes and calls again
  Keeps   a lane with URLs is in due or in inflight; adding a URL never lowers a running clock.
]]
local limit = tonumber(ARGV[4])
local byJob = ARGV[5] ~= '' and ARGV[5] ~= 'key'
local markKey = byJob and P .. 'candidates:' .. ARGV[6] or P .. 'mark:' .. ARGV[6]
local markField = 'parked:' .. ARGV[7]
local markable = ARGV[5] ~= ''
local beyond = ARGV[9] ~= '0' and P .. 'mark:' .. ARGV[6] .. ':' .. ARGV[7]
-- A caller that was away and has lost the lock must neither store nor mark anything: another gateway has the job or has
-- finished it, and a job that is there under its name now may be a later one. It cannot complete the job either.
if (byJob and call('GET', markKey .. ':lock') ~= ARGV[5]) or (markable and call('HEXISTS', markKey, markField) == 1)
  or (beyond and call('EXISTS', beyond) == 1) then
  return { epochId, ms(now), '0', 'again', '0' }
end

-- lane by lane: name, form, number of URLs, where the first of them stands
local names, forms, counts, starts = {}, {}, {}, {}
local singles = tonumber(ARGV[10])
for g = 1, singles do names[g], forms[g], counts[g], starts[g] = ARGV[9 + 2 * g], 'q', 1, 10 + 2 * g end
local at = 12 + 2 * singles
for g = singles + 1, singles + tonumber(ARGV[at - 1]) do
  names[g], forms[g], counts[g], starts[g] = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), at + 3
  at = at + 3 + counts[g] * (forms[g] == '*' and 5 or 1)
end
readLanes(names)
local full = { epochId, ms(now), 'full' }
for g = 1, #names do
  local lane, n = names[g], counts[g]
  local head, more = headOf(lane)
  local length = (head and 1 or 0) + (more and call('LLEN', P .. 'q:' .. lane) or 0)
  if memRead[lane] then length = length + call('LLEN', P .. 'h:' .. lane) end
  if length + n > limit then full[#full + 1] = tostring(g); full[#full + 1] = tostring(math.max(0, limit - length)) end
end
if #full > 3 then return full end

local function fresh(mark)
  return mark == '' or call('SET', P .. 'mark:' .. mark, '1', 'NX', 'PX', ARGV[8])
end
local function isNew(bucket, number)
  return bucket == '' or call('SADD', P .. 'ids:' .. bucket, number) == 1
end
local parked, absorbed, outcomes = 0, 0, 0
local idle = {}
local function append(lane, list, n, first, ...)
  parked = parked + n
  if list == 'h' then
    if call('RPUSH', P .. 'h:' .. lane, first, ...) == n then idle[#idle + 1] = lane end
    local tries, of, clock, why = memOf(lane)
    setMem(lane, tries, of, clock, why, '1')
    return
  end
  local head, more = headOf(lane)
  if not head then
    idle[#idle + 1] = lane
    setHead(lane, first, n > 1)
    if n > 1 then call('RPUSH', P .. 'q:' .. lane, ...) end
  else
    if not more then setHead(lane, head, true) end
    call('RPUSH', P .. 'q:' .. lane, first, ...)
  end
end
for g = 1, #names do
  local lane, form, n, start = names[g], forms[g], counts[g], starts[g]
  if form ~= '*' then append(lane, form, n, unpack(ARGV, start, start + n - 1))
  else
    local lists = { q = {}, h = {} }
    for k = start, start + n * 5 - 1, 5 do
      if fresh(ARGV[k + 4]) and isNew(ARGV[k + 2], ARGV[k + 3]) then
        local list = lists[ARGV[k]]
        list[#list + 1] = ARGV[k + 1]
      else absorbed = absorbed + 1 end
    end
    for name, urls in pairs(lists) do
      if #urls > 0 then append(lane, name, #urls, unpack(urls)) end
    end
  end
end
-- a lane, or its list, was empty: it may be in nobody's hands, or cooling down, which NX leaves as it is
if #idle > 0 then
  local leased = call('HMGET', LEASES, unpack(idle))
  local added, instant = {}, ms(now)
  for i = 1, #idle do
    if not leased[i] then added[#added + 1] = instant; added[#added + 1] = idle[i] end
  end
  if #added > 0 then
    local head = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    local more = call('ZADD', DUE, 'NX', unpack(added))
    if more > 0 and (not head or tonumber(head) > now) then call('PUBLISH', P .. 'wake', ms(now)) end
  end
end
while at + 4 <= #ARGV do
  local known = ARGV[at + 2] ~= '' and call('SISMEMBER', P .. 'ids:' .. ARGV[at + 2], ARGV[at + 3]) == 1
  if not known and fresh(ARGV[at + 4]) then
    call('XADD', P .. 'outcomes', '*', 'o', ARGV[at])
    count(ARGV[at + 1], 1)
    outcomes = outcomes + 1
  else absorbed = absorbed + 1 end
  at = at + 5
end
if markable then
  call('HSET', markKey, markField, '1')
  if ARGV[5] == 'key' then call('PEXPIRE', markKey, ARGV[8]) end
  if beyond then call('SET', beyond, '1', 'PX', ARGV[9]) end
end
count('parked', parked)
count('absorbed', absorbed)
flush()
return { epochId, ms(now), tostring(parked), tostring(absorbed), tostring(outcomes) }
