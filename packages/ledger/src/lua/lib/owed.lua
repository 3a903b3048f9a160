--- @include "lib/gates"
--- @include "lib/writes"
--[[
  owed: the delay that a lane owes after a request, whatever way that request ended, and when a lane opens whose delay may have become
  longer since. It is the longest of what the sender reports (the agent's own, the rules', what the answer brought, adaptive), the least delay
  of the fleet, the policy of the site, the delay by robots.txt as it is recorded, and that of an operator. A policy with consent takes the
  place of all but the operator's.

  {tag}:ended  hash  lane → LAST, packed: when its last exchange ended, the delay owed from then on, and the lane whose request it was where
               that is another one. It is kept as long as the delay runs or the lane has work.
  {tag}:epoch  the field EPOCH.leastDelays: LEAST_DELAY in layout.ts
]]
local leastDelays -- agent → its least delay, and when that was changed
local function leastDelayOf(agent)
  if not leastDelays then
    leastDelays = {}
    for name, least, changedAt in string.gmatch(leastDelaysText or '', LEAST_DELAY.pattern) do
      leastDelays[name] = { least = tonumber(least), changedAt = tonumber(changedAt) }
    end
  end
  return leastDelays[agent]
end

-- What agent, site and policy ask of every request of a lane as far as the whole fleet knows it; and whether the site has consented to it.
local function demandedOfAll(lane)
  local policy = policiesText and policyOf(originOf(lane)) or NO_POLICY
  if --[[rule:consent-takes-the-place-of-all]] policy.consent --[[end]] then return policy.delay, true end
  local known = leastDelaysText and leastDelayOf(agentOf(lane))
  return math.max(known and known.least or 0, --[[rule:the-delay-of-a-policy-is-owed]] policy.delay or 0 --[[end]]), false
end
local function delayByHand(o) return isAhead(o[FACTS.overrideUntil]) and tonumber(o[FACTS.overrideDelay]) or 0 end

-- The same with what is recorded of the origin.
local function demandedOf(lane)
  local demanded, isConsented = demandedOfAll(lane)
  local o = factsOf(lane)
  local recorded = isConsented and 0 or tonumber(o[FACTS.delayMs] or 0)
  return math.max(demanded, --[[rule:the-recorded-delay-is-owed]] recorded --[[end]], --[[rule:the-delay-by-hand-is-owed]] delayByHand(o) --[[end]]), isConsented
end

-- What a lane owes after a request. Where nothing of the origin has changed since its lease, that lease says what is recorded.
-- of: the lane whose request it was, '' for its own;  said: what the sender reports;  byHand: the operator's delay at the grant
local function owedAfter(lane, kind, fence, of, said, byHand)
  local isGroup = kind == KIND.paceGroup
  if --[[rule:a-pace-group-has-a-delay-of-its-own]] isGroup and of == '' --[[end]] then return said end
  local function demanded(other)
    if hasChanged(originOf(other), fence) then return demandedOf(other) end
    local least, isConsented = demandedOfAll(other)
    return math.max(least, byHand), isConsented
  end
  local owed, isConsented = 0, false
  if not isGroup then owed, isConsented = demanded(lane) end
  if of ~= '' then
    local ofOther, byOther = demanded(of)
    owed, isConsented = math.max(owed, ofOther), isConsented or byOther
  end
  return --[[rule:consent-shortens-no-group]] isConsented and not isGroup --[[end]] and owed or math.max(owed, said)
end

local lasts, lastsTouched = {}, {} -- lane → its record, false where there is none, nil where it was not read
local function putLast(lane, record)
  lasts[lane] = record
  lastsTouched[#lastsTouched + 1] = lane
end
local function setEnded(lane, ended, owed, of) putLast(lane, struct.pack(LAST.format, ended, owed, of)) end
local function forgetEnded(lane) putLast(lane, false) end
local function readEnded(lanes)
  if #lanes == 0 then return end
  local found = call('HMGET', ENDED, unpack(lanes))
  for i = 1, #lanes do lasts[lanes[i]] = found[i] end
end
-- When the last exchange of a lane ended, what it owed, and the lane whose request it was, '' for its own; nil where nothing is known.
local function endedOf(lane)
  if lasts[lane] == nil then lasts[lane] = call('HGET', ENDED, lane) end
  if not lasts[lane] then return nil end
  return struct.unpack(LAST.format, lasts[lane])
end
local function lastRecord(lane) return lasts[lane] end
flushes[#flushes + 1] = function() writeAll(ENDED, lastsTouched, lastRecord) end

-- What the last exchange of a lane owes by what is known now.
local function owedNow(lane, of)
  local owed = demandedOf(lane)
  if of and of ~= '' then owed = math.max(owed, (demandedOf(of))) end
  return owed
end

-- When the fleet's least delay of a lane's agent, or the policy of its site, was last changed, as long as a delay from before may
-- still run; 0 where none may.
local function changedAt(lane)
  local known = leastDelaysText and leastDelayOf(agentOf(lane))
  local changed = known and known.changedAt + known.least > now and known.changedAt or 0
  local policy = policiesText and policyOf(originOf(lane)) or NO_POLICY
  return math.max(changed, --[[rule:a-longer-policy-counts-while-a-delay-runs]] policy.changedAt or 0 --[[end]])
end

-- When a lane opens that is due at an instant: later where a delay that runs has become longer since it began, or where Redis has lost
-- the end of it. A delay that has become shorter counts from the next request on.
local function opensAt(lane, due)
  local changed = changedAt(lane)
  if changed == 0 and lostAt == 0 then return due end
  local ended, owed, of = endedOf(lane)
  if --[[rule:a-raise-counts-while-a-delay-runs]] ended and ended > changed --[[end]] and ended > lostAt then return due end
  local since = ended or changed
  -- What ended before Redis lost its latest writes may not be the last exchange: another one may have ended by `lostUntil`.
  if --[[rule:a-lost-exchange-owes-its-delay]] lostAt > 0 and lostAt >= (ended or 0) --[[end]] then since = math.max(since, lostUntil) else owed = 0 end
  return math.max(due, since + math.max(owed or 0, owedNow(lane, of)))
end
-- The same for what is asked or known of its origin since.
local function lengthened(lane, due)
  local ended, _, of = endedOf(lane)
  if not ended then return due end
  return math.max(due, --[[rule:a-longer-delay-counts-while-it-runs]] ended + owedNow(lane, of) --[[end]])
end
