--- @include "gates/stops"
--[[
  policies: rules that the fleet's configuration grants to a site, or that the site asks for (docs/sites.md): hours and
  a budget, which lib/gates.lua reads, and a delay, which lib/owed.lua reads. A fleet without policies reads one more
  field of a hash that is read anyway: frequent verbs check `policiesText` before they call these functions.

  {tag}:epoch      the field EPOCH.policies: version of the configuration, number of policies, and until when dropped
                   ones count
  {tag}:policies   hash  site → POLICY in layout.ts: when it was changed, and the policy; POLICY.gone once dropped
  {tag}:requests:<day>  hash  host → requests of that day (UTC), of hosts that have a budget
  Sites are named as in SITE_POLICIES. packages/politeness/src/site-policy.ts has the same choice of policy for a host.
]]
local NO_POLICY = {}
local policies = {} -- origin → the policy that policyOf found
local isInForce -- whether any policy counts; nil until it is read

local function policyOf(origin)
  if not policiesText then return NO_POLICY end
  local known = policies[origin]
  if known then return known end
  if isInForce == nil then
    local count, till = string.match(policiesText, '^%d+ (%d+) (%S+)')
    isInForce = count ~= '0' or tonumber(till) > now
  end
  known = NO_POLICY
  -- A lane of a pace group has no host, and a delay of its own.
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
        if delay ~= POLICY.gone and --[[rule:the-nearest-policy-counts]] not known.site --[[end]] then
          known.site, known.text, known.consent = sites[i], text, consent == '1'
          known.delay, known.budget = tonumber(delay), tonumber(budget)
          known.from, known.to = tonumber(from), tonumber(to)
        end
      end
    end
  end
  policies[origin] = known
  return known
end

local function requestsKey()
  return TAG .. KEY.requests .. string.format('%d', math.floor((now - shift) / DAY_MS))
end
local requests = {} -- host → requests today
local function requestsTo(host)
  requests[host] = requests[host] or tonumber(call('HGET', requestsKey(), host) or '0')
  return requests[host]
end
-- Counts another request to an origin.
local function countRequest(origin)
  if not policyOf(origin).budget then return end
  local host = namesOf(origin)[1]
  requests[host] = --[[rule:a-request-is-counted]] call('HINCRBY', requestsKey(), host, 1) --[[end]]
  if requests[host] == 1 then call('PEXPIRE', requestsKey(), 2 * DAY_MS) end
end

-- When the visiting hours of an origin begin, 0 if they have begun. Hours and days are those of the clock of Redis.
local function hoursBegin(origin)
  local policy = policyOf(origin)
  if not policy.from then return 0 end
  local wall = --[[rule:visiting-hours-go-by-the-clock-of-redis]] now - shift --[[end]]
  local day = wall - wall % DAY_MS
  local at, from, to = wall - day, policy.from * 60000, policy.to * 60000
  local isOpen
  if from < to then isOpen = at >= from and at < to else isOpen = at >= from or at < to end
  return isOpen and 0 or (at < from and day or day + DAY_MS) + from + shift
end

-- When a new day begins for an origin whose budget is spent, 0 if it is not spent.
local function budgetUntil(origin)
  local policy = policyOf(origin)
  if not policy.budget or requestsTo(namesOf(origin)[1]) < policy.budget then return 0 end
  local wall = now - shift
  return wall - wall % DAY_MS + DAY_MS + shift
end
