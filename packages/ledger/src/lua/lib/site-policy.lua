--- @include "lib/stops"
--[[
  site-policy: what the fleet's configuration grants to a site, or what the site asks for (docs/sites.md). A fleet without policies pays
  for one more field of a hash that is read anyway: hot verbs look whether there is `policiesText` before they call anything here.

  {tag}:epoch      the field EPOCH.policies: version of the configuration, how many policies there are, and until when what has been
                   dropped still counts
  {tag}:policies   hash  site → POLICY in layout.ts: when it was changed, and the policy; POLICY.gone of one that has been dropped
  {tag}:requests:<day>  hash  host → requests of that day (UTC), of hosts that have a budget
  {tag}:closed     set of the lanes that visiting hours or a budget hold; {tag}:waking: those that are still to be woken after a change
  Sites are names as SITE_POLICIES has them. Which counts for a host is said in packages/politeness/src/site-policy.ts, too.
]]
local POLICY_DAY_MS = 86400000
local NO_POLICY = {}
local policies = {} -- origin → what policyOf has found
local isInForce -- whether any policy counts, nil until it is asked

local function policyOf(origin)
  if not policiesText then return NO_POLICY end
  local known = policies[origin]
  if known then return known end
  if isInForce == nil then
    local count, till = string.match(policiesText, '^%d+ (%d+) (%S+)')
    isInForce = count ~= '0' or tonumber(till) > now
  end
  known = NO_POLICY
  -- The lanes of a pace group beside a host's have no host, and a delay of their own.
  if isInForce and string.find(origin, '^https?://') then
    local above, sites = namesOf(origin), {}
    for i = 1, #above do
      sites[2 * i - 1], sites[2 * i] = (i == 1 and '' or '*.') .. above[i], 'domain:' .. above[i]
    end
    local found = call('HMGET', TAG .. KEY.policies, unpack(sites))
    for i = 1, #sites do
      if found[i] then
        local changedAt, delay, consent, from, to, budget, text = string.match(found[i], POLICY.pattern)
        if known == NO_POLICY then known = { changedAt = 0 } end
        known.changedAt = math.max(known.changedAt, tonumber(changedAt))
        if delay ~= POLICY.gone and not known.site then
          known.site, known.text, known.consent = sites[i], text, consent == '1'
          known.delay, known.from, known.to, known.budget = tonumber(delay), tonumber(from), tonumber(to), tonumber(budget)
        end
      end
    end
  end
  policies[origin] = known
  return known
end

-- What a lane owes after a request where `owed` is what agent, robots.txt and operator ask: less where the site has consented.
local function owedWithConsent(lane, owed)
  local policy = policyOf(originOf(lane))
  if not policy.consent then return owed end
  local delay, till = unpack(call('HMGET', originKey(originOf(lane)), FIELD.overrideDelay, FIELD.overrideUntil))
  return math.max(policy.delay, till and tonumber(till) > now and tonumber(delay) or 0)
end

-- The least delay of a lane by the policy of its site, 0 when there is none.
local function leastByPolicy(lane) return policyOf(originOf(lane)).delay or 0 end

local function requestsKey() return TAG .. KEY.requests .. string.format('%d', math.floor((now - shift) / POLICY_DAY_MS)) end
local requests = {} -- host → requests today
local function requestsTo(host)
  requests[host] = requests[host] or tonumber(call('HGET', requestsKey(), host) or '0')
  return requests[host]
end
-- One more request goes to an origin.
local function countRequest(origin)
  if not policyOf(origin).budget then return end
  local host = namesOf(origin)[1]
  requests[host] = call('HINCRBY', requestsKey(), host, 1)
  if requests[host] == 1 then call('PEXPIRE', requestsKey(), 2 * POLICY_DAY_MS) end
end

-- 0 for an origin that may be asked now, else until when it may not, and the gate: a stop, its visiting hours, its budget. A request
-- that is under way has been counted already. Hours and days are those of the clock of Redis.
local function heldUntil(origin, isUnderWay)
  local till, gate = stoppedUntil(origin), GATE.stopped
  local policy = policiesText and policyOf(origin) or NO_POLICY
  if not (policy.from or policy.budget) then return till, gate end
  local wall = now - shift
  local day = wall - wall % POLICY_DAY_MS
  if policy.from then
    local at, from, to = wall - day, policy.from * 60000, policy.to * 60000
    local isOpen
    if from < to then isOpen = at >= from and at < to else isOpen = at >= from or at < to end
    local opens = (at < from and day or day + POLICY_DAY_MS) + from + shift
    if not isOpen and opens > till then till, gate = opens, GATE.visitingHours end
  end
  if policy.budget and not isUnderWay and requestsTo(namesOf(origin)[1]) >= policy.budget then
    local next = day + POLICY_DAY_MS + shift
    if next > till then till, gate = next, GATE.budget end
  end
  return till, gate
end
