--- @include "gates/stops"
--[[
  policies: rules that the fleet's configuration grants to a site, or that the site asks for (docs/sites.md): hours and
  a budget, which lib/gates.lua reads, and a delay, which lib/owed.lua reads. A fleet without policies only pays for one
  more field of the hash {tag}:epoch, which every call reads: frequent verbs check `policiesText` (that field) before
  they call these functions.

  {tag}:epoch      the field EPOCH.policies: version of the configuration, number of policies, and until when dropped
                   policies count
  {tag}:policies   hash  site → POLICY in layout.ts: when the policy was changed, and the policy itself, or POLICY.gone
                   after the policy was dropped
  {tag}:requests:<day>  hash  host → requests of that day (UTC), of hosts that have a budget
  Sites are named as in the setting SITE_POLICIES. packages/politeness/src/site-policy.ts chooses the policy of a host
  by the same rule as policyOf.
]]
local NO_POLICY = {}
local policies = {} -- origin → the result of policyOf
local isInForce -- whether any policy counts, including recently dropped ones; nil until `policiesText` is parsed

local function policyOf(origin)
  if not policiesText then return NO_POLICY end
  local known = policies[origin]
  if known then return known end
  if isInForce == nil then
    local count, till = string.match(policiesText, '^%d+ (%d+) (%S+)')
    isInForce = count ~= '0' or tonumber(till) > now
  end
  known = NO_POLICY
  -- The lane of a pace group has no host, so no site policy applies: the pace group has its own delay.
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
local requests = {} -- host → number of requests to the host today (UTC)
local function requestsTo(host)
  requests[host] = requests[host] or tonumber(call('HGET', requestsKey(), host) or '0')
  return requests[host]
end
-- Counts one more request against the daily budget of an origin's host.
local function countRequest(origin)
  if not policyOf(origin).budget then return end
  local host = namesOf(origin)[1]
  requests[host] = --[[rule:a-request-is-counted]] call('HINCRBY', requestsKey(), host, 1) --[[end]]
  if requests[host] == 1 then call('PEXPIRE', requestsKey(), 2 * DAY_MS) end
end

-- When the next visiting hours of an origin begin, as an instant of the ledger; 0 if they have begun, or if there are
-- none. Hours and days go by the clock of Redis, in UTC.
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

-- When the next day (UTC) begins, if the origin's host has had all requests of its budget for today; otherwise 0.
local function budgetUntil(origin)
  local policy = policyOf(origin)
  if not policy.budget or requestsTo(namesOf(origin)[1]) < policy.budget then return 0 end
  local wall = now - shift
  return wall - wall % DAY_MS + DAY_MS + shift
end
