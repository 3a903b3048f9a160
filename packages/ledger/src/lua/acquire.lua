--[[
  acquire: a visit, at once or in so many ms, to the first of these lanes that is open: one lane (the hop of a robots.txt into
  another origin), or the places of a pace group.
  ARGV[4] leaseMs, [5] delayMs owed if nothing better is known, [6] kind: hop | clock
  ARGV[7] lane whose request this is for, or '': the delay known of it, or demanded by an operator, is owed at least. Of a hop: its own
  ARGV[8] '1': the hop is the robots fetch of its origin
  ARGV[9] fence under which the visitor holds the lane of the hop already, or '': then only the gates of the origin are looked at
  ARGV[10] the lane that asks, by which it keeps its place among others who wait, or ''
  then lanes
  Returns {epoch, now, 'granted', fence, delayMs, lane} or {epoch, now, 'wait', ms} or {epoch, now, 'blocked'}
  Keeps   the lease is a started one: it ends by settle or by reap, and counts no attempt of the URL that may be at the head. A
          hop waits while a robots fetch of its origin is in flight, whoever holds the lane.
]]
local LOOK_AGAIN_MS = 250 -- a robots fetch may end at any time, and nobody tells a visitor
local lanes = {}
for i = 11, #ARGV do lanes[#lanes + 1] = ARGV[i] end
local delay, isHop, held = tonumber(ARGV[5]), ARGV[6] == 'hop', ARGV[9]
local lane = ARGV[7]
local function answer(...)
  flush()
  flushVisits()
  return { epochId, ms(now), ... }
end
readForVisits(lanes)
if lane ~= '' then
  local agent = string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1)
  local o = call('HMGET', P .. 'o:' .. originOf(lane), 'g:' .. agent, 'og', 'oe', 'ku', 'q', 'u', 'bu', 'pu')
  delay = math.max(delay, tonumber(o[1] or '0'), o[3] and tonumber(o[3]) > now and tonumber(o[2]) or 0)
  if isHop then
    if o[4] and tonumber(o[4]) > now then return answer('blocked') end
    local asked = o[5] and o[5] ~= held and tonumber(o[6]) or 0
    if asked > now then return answer('wait', ms(math.min(asked - now, LOOK_AGAIN_MS))) end
    if held ~= '' then
      local owner = leaseOf(lane)
      local shut = math.max(holdUntil, tonumber(o[7] or '0'), tonumber(o[8] or '0'))
      if owner ~= held then return answer('wait', ms(LOOK_AGAIN_MS)) end
      if shut > now then return answer('wait', ms(shut - now)) end
      if ARGV[8] == '1' and o[5] ~= held then startRobotsFetch(originOf(lane), held, tonumber(ARGV[4])) end
      return answer('granted', held, ms(delay), lane)
    end
  end
end
local f, instant, silence = visit(lanes, ARGV[6], delay, tonumber(ARGV[4]), 0, ARGV[10])
if not f then return answer('wait', ms(math.max(1, instant - now))) end
if ARGV[8] == '1' then startRobotsFetch(originOf(lane), f, tonumber(ARGV[4])) end
return answer('granted', f, silence, visited[1])
