--[[
  start: the permit, asked for right before the first byte. From here on the lease counts and outlasts the deadline.
  ARGV[4] leaseMs   ARGV[5] aheadMs: a lane that opens this soon is granted already; the caller waits out the rest by himself
  then per order: lane, fence, kind (page | robots | robots-page: a page whose URL is a robots.txt), version, delayMs, clock: the lane that is this one's clock as well, or ''
  Returns {epoch, now, then per order: 'granted', with |ms until it opens where it has to be waited for, and |fence|delayMs of the clock behind that · 'early|waitMs' · a refusal}
          refusals: stale (not your fence) · held (Redis forgot) · rules-changed · shut (back-off, pause) · robots-in-flight · paced (the
          clock is shut)
  Keeps   a refused order has given its lane back, unless the lane was no longer its own. One robots fetch of an origin at a time. A
          lane and its clock are started together or not at all.
]]
local out = { epochId, ms(now) }
local leaseMs, ahead = tonumber(ARGV[4]), tonumber(ARGV[5])
local stale = 0
local started = false
local ends = now + leaseMs -- no earlier than its reservation: reap finds it in inflight by that, and looks again
local lanes, origins, clocks = {}, {}, {}
for i = 6, #ARGV, 6 do
  lanes[#lanes + 1] = ARGV[i]
  if ARGV[i + 5] ~= '' then clocks[#clocks + 1] = ARGV[i + 5] end
  origins[#origins + 1] = originOf(ARGV[i])
end
readAll(LEASES, leaseRead, lanes)
readForVisits(clocks)
local changes, found = {}, call('ZMSCORE', P .. 'changed', unpack(origins))
for i = 1, #origins do changes[origins[i]] = found[i] end
local ALL_OPEN = {}
local OLDEST, LATEST = string.format('%d', (now - CHANGES_KEPT_MS) * 1000), string.rep('9', 20)
-- of two fences: whole numbers as text, which cost more to read than to compare
local function isAfter(one, other) return #one > #other or (#one == #other and one > other) end
-- what begin has to know of an origin: from the lease when nothing has changed since it was taken
local function gatesOf(origin, fence, version)
  local changed = changes[origin]
  if version ~= '' and isAfter(fence, OLDEST) and (not changed or isAfter(fence, changed)) then return version, ALL_OPEN end
  local o = call('HMGET', P .. 'o:' .. origin, 'v', 'bu', 'pu', 'q', 'u', 'nf', 'ku', 'og', 'oe')
  return o[1] or '0', o
end
local clockFence, clockOpens, silence
local function isShut(clock, delay, lane)
  clockFence, clockOpens, silence = visit({ clock }, 'clock', delay, leaseMs, ahead, lane)
  return not clockFence
end
for i = 6, #ARGV, 6 do
  local lane, fence, kind, version, delay, clock = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
  local owner, list, notBefore, since, _, _, _, _, seen = leaseOf(lane)
  local answer = 'stale'
  if owner == fence and since == '' then
    local opens = tonumber(notBefore)
    local origin = origins[i / 6]
    local inForce, o = gatesOf(origin, fence, seen)
    local back, pause, shut = 0, 0, 0
    if o[2] or o[3] or o[7] then
      back, pause = tonumber(o[2] or '0'), math.max(tonumber(o[3] or '0'), tonumber(o[7] or '0'))
      shut = math.max(back, pause)
    end
    local least = (o[9] and tonumber(o[9]) > now) and o[8] or ''
    if holdUntil > now then
      answer = 'startup-hold'; endLease(lane); giveBack(lane, opens, holdUntil, 'lane-busy')
    elseif shut > now then
      answer = 'back-off'; endLease(lane); giveBack(lane, opens, shut, pause >= back and 'paused' or 'back-off')
    elseif inForce ~= version then
      answer = 'rules-changed'; endLease(lane); giveBack(lane, opens)
    elseif kind ~= 'page' and o[4] and tonumber(o[5]) > now then
      answer = 'robots-in-flight'; endLease(lane); giveBack(lane, opens, tonumber(o[5]), 'robots-in-flight')
    elseif opens > now + ahead then
      answer = 'early|' .. ms(opens - now - ahead)
    elseif clock ~= '' and isShut(clock, math.max(tonumber(delay), tonumber(least) or 0), lane) then
      answer = 'paced'; endLease(lane); giveBack(lane, opens, clockOpens, 'pace-group')
    else
      if clock ~= '' then opens = math.max(opens, clockOpens) end
      answer = 'granted'
      if clock ~= '' or opens > now then answer = answer .. '|' .. ms(math.max(0, opens - now)) end
      if clock ~= '' then answer = answer .. '|' .. clockFence .. '|' .. silence end
      started = true
      setLease(lane, fence, list, notBefore, now, delay, kind, o[6] or '', least, '', ends)
      if kind ~= 'page' then
        startRobotsFetch(origin, fence, leaseMs)
        changes[origin] = LATEST
      end
    end
  end
  if answer == 'stale' then stale = stale + 1 end
  out[#out + 1] = answer
end
if started then granted() end
count('stale-begin', stale)
flush()
flushVisits()
return out
