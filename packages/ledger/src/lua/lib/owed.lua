--- @include "lib/gates"
--- @include "lib/writes"
--[[
  owed: the delay that a lane owes after a request, however the request ended; and when a lane opens whose running delay
  may have become longer. The delay is the longest of these: the delay that the sender reports (from the agent, the
  rules, the answer and adaptive delay), the fleet's least delay for the agent, the delay in the site's policy, the
  recorded delay of robots.txt, and the operator's delay. A policy with consent replaces all but the operator's delay.

  {tag}:ended  hash  lane → LAST, packed: when its last exchange ended, the delay owed from then on, and the lane that
                     made the request, '' for this lane. An entry is kept while the delay runs or the lane has work.
  {tag}:epoch  the field EPOCH.leastDelays: LEAST_DELAY in layout.ts
]]
local leastDelays = {} -- agent → its least delay, and when this least delay was last changed
-- longestLeast: the longest least delay of any agent, ms;  raisesEnd: when every delay that began before the latest
-- change of a least delay has ended;  mostAhead: bound, ms, on how far reap sets the end of an exchange into the future
-- (by a quarantine, which is shorter than holdMs).
local longestLeast, raisesEnd, mostAhead = 0, 0, tonumber(ARGV[ARG.holdMs])
for name, least, changedAt in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
  leastDelays[name] = { least = tonumber(least), changedAt = tonumber(changedAt) }
  longestLeast, raisesEnd = math.max(longestLeast, tonumber(least)), math.max(raisesEnd, changedAt + mostAhead + least)
end

-- The delay that the fleet's configuration (least delay of the agent, policy of the site) demands after every request
-- of a lane; and whether the policy has the site's consent.
local function demandedOfAll(lane)
  local known = longestLeast > 0 and leastDelays[agentOf(lane)]
  local least = known and known.least or 0
  if not policiesText then return least, false end
  local policy = policyOf(originOf(lane))
  if --[[rule:consent-takes-the-place-of-all]] policy.consent --[[end]] then return policy.delay, true end
  return math.max(least, --[[rule:the-delay-of-a-policy-is-owed]] policy.delay or 0 --[[end]]), false
end
local function delayByHand(o) return isAhead(o[FACTS.overrideUntil]) and tonumber(o[FACTS.overrideDelay]) or 0 end

-- As demandedOfAll, including the delays of the origin that were recorded from its robots.txt or set by an operator.
local function demandedOf(lane)
  local demanded, isConsented = demandedOfAll(lane)
  local o = factsOf(lane)
  local recorded = isConsented and 0 or tonumber(o[FACTS.delayMs] or 0)
  local byHand = --[[rule:the-delay-by-hand-is-owed]] delayByHand(o) --[[end]]
  return math.max(demanded, --[[rule:the-recorded-delay-is-owed]] recorded --[[end]], byHand), isConsented
end

-- As demandedOf, for a lease with this fence. If the origin has not changed since the grant of the lease, the recorded
-- delay is not read: it is part of the delay in the lease. byHand: the operator's delay when the lease was granted
local function demandedSince(lane, fence, byHand)
  if hasChanged(lane, fence) then return demandedOf(lane) end
  local least, isConsented = demandedOfAll(lane)
  return math.max(least, byHand), isConsented
end
-- The delay that a lane owes after a request. of: the lane that made the request, '' for this lane;  reported: the
-- delay that the sender reports;  byHand: the operator's delay when the lease was granted
local function owedAfter(lane, kind, fence, of, reported, byHand)
  local isGroup = kind == KIND.paceGroup
  if --[[rule:a-pace-group-has-a-delay-of-its-own]] isGroup and of == '' --[[end]] then return reported end
  -- The usual case: no delay of the two lanes has changed since the grant, and no agent has a least delay longer than
  -- `reported`.
  if not policiesText and reported >= longestLeast and (isUnchanged(fence)
    or (isGroup or not hasChanged(lane, fence)) and (of == '' or not hasChanged(of, fence))) then
    return math.max(reported, byHand)
  end
  local owed, isConsented = 0, false
  if not isGroup then owed, isConsented = demandedSince(lane, fence, byHand) end
  if of ~= '' then
    local ofOther, byOther = demandedSince(of, fence, byHand)
    owed, isConsented = math.max(owed, ofOther), isConsented or byOther
  end
  return --[[rule:consent-shortens-no-group]] isConsented and not isGroup --[[end]] and owed or math.max(owed, reported)
end

local lasts, lastsTouched = {}, {} -- lane → its entry in {tag}:ended; false when there is none, nil if not yet read
local function setEnded(lane, ended, owed, of)
  lasts[lane] = struct.pack(LAST.format, ended, owed, of)
  lastsTouched[#lastsTouched + 1] = lane
end
local function forgetEnded(lane)
  lasts[lane] = false
  lastsTouched[#lastsTouched + 1] = lane
end
local function readEnded(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', ENDED, unpack(lanes))
  for i = 1, #lanes do lasts[lanes[i]] = found[i] end
end
-- When the last exchange of a lane ended, the delay owed from then on, and the lane that made the request, '' for this
-- lane; nil when no end is stored.
local function endedOf(lane)
  if lasts[lane] == nil then lasts[lane] = call('HGET', ENDED, lane) end
  if not lasts[lane] then return nil end
  return struct.unpack(LAST.format, lasts[lane])
end
flushes[#flushes + 1] = function() writeAll(ENDED, lastsTouched, lasts) end

-- The delay that the last exchange of a lane owes by the present facts. of: as endedOf returns it, or nil
local function owedNow(lane, of)
  local owed = demandedOf(lane)
  if of and of ~= '' then owed = math.max(owed, (demandedOf(of))) end
  return owed
end

-- When the least delay of a lane's agent, or the policy of its site, was last changed; 0 if neither was. A change of a
-- least delay counts only while a delay that began before the change may still run.
local function changedAt(lane)
  local known = raisesEnd > now and leastDelays[agentOf(lane)]
  local changed = known and known.changedAt + mostAhead + known.least > now and known.changedAt or 0
  if not policiesText then return changed end
  local policyChanged = policyOf(originOf(lane)).changedAt or 0
  return math.max(changed, --[[rule:a-longer-policy-counts-while-a-delay-runs]] policyChanged --[[end]])
end

-- When a lane opens that is due at `due`. The lane opens later than `due` if its running delay has become longer since
-- the delay began, or if Redis has lost the end of the lane's last exchange. A shorter delay counts from the next
-- request on.
local function opensAt(lane, due)
  local changed = changedAt(lane)
  if --[[rule:a-raise-counts-while-a-delay-runs]] changed == 0 --[[end]] and lostAt == 0 then return due end
  -- reap sets the end of an exchange into the future. So even an end after the change may owe a delay from before it.
  local ended, owed, of = endedOf(lane)
  local since = ended or changed
  -- If the last known exchange ended before Redis lost its latest writes, an unknown exchange may have followed, which
  -- ended no later than `lostUntil`.
  local isLost = --[[rule:a-lost-exchange-owes-its-delay]] lostAt > 0 and lostAt >= (ended or 0) --[[end]]
  if isLost then since = math.max(since, lostUntil) else owed = 0 end
  return math.max(due, since + math.max(owed or 0, owedNow(lane, of)))
end
-- When a lane opens that is due at `due`, after a delay of its origin was set or recorded.
local function lengthened(lane, due)
  local ended, _, of = endedOf(lane)
  if not ended then return due end
  return math.max(due, --[[rule:a-longer-delay-counts-while-it-runs]] ended + owedNow(lane, of) --[[end]])
end
