--[[
  park: URLs into their lanes, and outcomes that are already known into the stream; idempotent.
  ARGV[4] laneLimit
  ARGV[5] mark: 'job' (a field of the BullMQ job that carried the chunk: gone with it) · 'key' (a key of its own) · ''
  ARGV[6] job or key name, ARGV[7] chunk number, ARGV[8] life of marks in ms
  ARGV[9] number of lanes, then per lane: lane, n, n × (list, url, bucket, idNumber, mark or '')
  then outcomes to the end: json, kind, bucket, idNumber, mark or ''   (bucket '' when the id is not to be looked up)
  Returns {epoch, now, parked, absorbed, outcomes} or {epoch, now, 'full', then pairs: index of the lane (from 1), room left}:
          nothing was written, the caller turns what is too much into outcomes and calls again
  Keeps   a lane with URLs is in due or in inflight; adding a URL never lowers a running clock.
]]
local lanes = tonumber(ARGV[9])
local limit = tonumber(ARGV[4])
local markKey = ARGV[5] == 'job' and P .. 'candidates:' .. ARGV[6] or P .. 'mark:' .. ARGV[6]
local markField = 'parked:' .. ARGV[7]
local markable = ARGV[5] ~= ''
-- a job that is gone was finished by somebody else, while this caller was away
if (ARGV[5] == 'job' and redis.call('EXISTS', markKey) == 0) or (markable and redis.call('HEXISTS', markKey, markField) == 1) then
  return { epochId, ms(now), '0', 'again', '0' }
end

local names = {}
local at = 10
for g = 1, lanes do
  names[g] = ARGV[at]
  at = at + 2 + tonumber(ARGV[at + 1]) * 5
end
readAll(MEM, memRead, names)
local full = { epochId, ms(now), 'full' }
at = 10
for g = 1, lanes do
  local lane, n = ARGV[at], tonumber(ARGV[at + 1])
  local length = redis.call('LLEN', P .. 'q:' .. lane)
  if memRead[lane] then length = length + redis.call('LLEN', P .. 'h:' .. lane) end
  if length + n > limit then full[#full + 1] = tostring(g); full[#full + 1] = tostring(math.max(0, limit - length)) end
  at = at + 2 + n * 5
end
if #full > 3 then return full end

local function fresh(mark)
  return mark == '' or redis.call('SET', P .. 'mark:' .. mark, '1', 'NX', 'PX', ARGV[8])
end
local parked, absorbed, outcomes = 0, 0, 0
local idle = {}
at = 10
for _ = 1, lanes do
  local lane, n = ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local lists = { q = {}, h = {} }
  for k = at, at + n * 5 - 1, 5 do
    if fresh(ARGV[k + 4]) and redis.call('SADD', P .. 'ids:' .. ARGV[k + 2], ARGV[k + 3]) == 1 then
      local list = lists[ARGV[k]]
      list[#list + 1] = ARGV[k + 1]
    else absorbed = absorbed + 1 end
  end
  at = at + n * 5
  for name, urls in pairs(lists) do
    if #urls > 0 then
      parked = parked + #urls
      if redis.call('RPUSH', P .. name .. ':' .. lane, unpack(urls)) == #urls then idle[#idle + 1] = lane end
      if name == 'h' then
        local tries, list, clock, why = memOf(lane)
        setMem(lane, tries, list, clock, why, '1')
      end
    end
  end
end
-- a list that was empty: its lane may be in nobody's hands, or cooling down, which NX leaves as it is
if #idle > 0 then
  local leased = redis.call('HMGET', LEASES, unpack(idle))
  local added = {}
  for i = 1, #idle do
    if not leased[i] then added[#added + 1] = ms(now); added[#added + 1] = idle[i] end
  end
  if #added > 0 then
    local head = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    local more = redis.call('ZADD', DUE, 'NX', unpack(added))
    if more > 0 and (not head or tonumber(head) > now) then redis.call('PUBLISH', P .. 'wake', ms(now)) end
  end
end
while at + 4 <= #ARGV do
  local known = ARGV[at + 2] ~= '' and redis.call('SISMEMBER', P .. 'ids:' .. ARGV[at + 2], ARGV[at + 3]) == 1
  if not known and fresh(ARGV[at + 4]) then
    redis.call('XADD', P .. 'outcomes', '*', 'o', ARGV[at])
    count(ARGV[at + 1], 1)
    outcomes = outcomes + 1
  else absorbed = absorbed + 1 end
  at = at + 5
end
if markable then
  redis.call('HSET', markKey, markField, '1')
  if ARGV[5] == 'key' then redis.call('PEXPIRE', markKey, ARGV[8]) end
end
count('parked', parked)
count('absorbed', absorbed)
flush()
return { epochId, ms(now), tostring(parked), tostring(absorbed), tostring(outcomes) }
