--- @include "lib/origin"
--- @include "lib/closed-index"
--- @include "lib/retry-after"
--[[
  back-off: closes an origin for a while after it asked for less (429, 503), turned a request away (403), gave no
  answer, or asked to wait in any other answer (Retry-After). A Retry-After in any other answer is no incident and no
  failure. Each incident escalates the back-off once, however many agents see the incident: an exchange that was
  started before the origin was closed is no further incident, and only extends the present back-off.
  The `load` of a completion (loadText in verbs/complete.ts) has four parts: the kind ('asked-for-less', 'turned-away',
  'no-answer' or 'asked-to-wait'); jitter in [0, 1); Retry-After in ms, or ''; Retry-After as a date on the clock of
  Redis, or ''.
  Requests in a row that were turned away or got no answer count as failures. A good answer halves their number, so an
  origin that has failed often recovers step by step, and one that fails now and then is not slowed down. The jitter
  only lengthens a back-off.
]]
local FIRST, LONGEST = tonumber(ARGV[ARG.backOffMs]), tonumber(ARGV[ARG.backOffMaxMs])
local QUIET = tonumber(ARGV[ARG.backOffQuietMs])

-- The longest back-off after requests that were turned away (403), ms. It is shorter than LONGEST, because the origin
-- does answer, and some of its pages may be forbidden to everyone.
local LONGEST_TURNED_AWAY = LONGEST / 6

local function failuresLength(failures, kind)
  if failures < 2 then return nil end -- a single failure closes nothing: it is often chance
  return math.min(FIRST / 12 * 2 ^ (failures - 2), kind == 'turned-away' and LONGEST_TURNED_AWAY or LONGEST)
end

local function answeredWell(lane)
  local failures = factsOf(lane)[FACTS.failures]
  if not failures then return end
  local key = originKey(originOf(lane))
  failures = --[[rule:good-answers-halve-the-failures]] math.floor(tonumber(failures) / 2) --[[end]]
  if failures > 0 then call('HSET', key, FIELD.failures, failures) else call('HDEL', key, FIELD.failures) end
end

local function backOff(lane, load, startedAt, ended)
  local kind, jitter, retryMs, retryAt = string.match(load, '^(%S+) (%S+) (%S*) ?(%S*)$')
  local origin = originOf(lane)
  local key, o = originKey(origin), factsOf(lane)
  local till, incidents = tonumber(o[FACTS.backOffUntil] or '0'), tonumber(o[FACTS.incidents] or '0')
  local failures = tonumber(o[FACTS.failures] or '0')
  --[[rule:a-back-off-is-marked]] markChanged(origin) --[[end]]
  local isAnother = --[[rule:one-escalation-per-incident]] startedAt >= till --[[end]]
  local length
  if kind == 'asked-for-less' then
    if isAnother then
      incidents = --[[rule:incidents-are-forgotten]] (till > 0 and now - till > QUIET) and 1 or incidents + 1 --[[end]]
      call('HSET', key, FIELD.incidents, incidents)
    end
    if failures > 0 then call('HDEL', key, FIELD.failures) end -- the origin has answered, so the failures in a row end
    length = math.min(FIRST * 2 ^ (math.max(incidents, 1) - 1), LONGEST)
  elseif --[[rule:a-wait-is-no-failure]] kind ~= 'asked-to-wait' --[[end]] then
    if isAnother then
      failures = failures + 1
      call('HSET', key, FIELD.failures, failures)
    end
    length = failuresLength(failures, kind)
  end
  local wait = --[[rule:any-answer-may-ask-to-wait]] retryAfter(retryMs, retryAt, ended) --[[end]]
  if wait > 0 then length = kind == 'asked-for-less' and wait or math.max(wait, length or 0) end
  if length then
    length = length * (--[[rule:jitter-lengthens]] 1 + tonumber(jitter) / 10 --[[end]])
    till = math.max(--[[rule:a-back-off-is-never-shortened]] till --[[end]], ended + length)
    call('HSET', key, FIELD.backOffUntil, ms(till))
    indexClosed(GATE.backOff, origin, till, 'GT')
  end
  local life = math.ceil(math.max(till - now, 0) + QUIET)
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end
