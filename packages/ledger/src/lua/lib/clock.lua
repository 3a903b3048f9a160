--- @include "lib/keys"
--[[
  clock: the ledger's time. It is the TIME of Redis plus `shift`, which is 0 until TIME leaps or runs fast. The shift
  removes each leap, and what a fast TIME gains. So the ledger's time neither stops nor skips nor runs fast, and every
  stored instant stays true: docs/decisions/0014-a-clock-that-leaps.md.
]]
-- The least step of TIME that counts as a leap, ms. A smaller step forward counts as time that has passed; after a
-- smaller step back the ledger's time stands still until TIME has caught up.
local STEP_MS = 1000
local DAY_MS = 86400000
local DOUBT_MS = 2000 -- how long a doubt lasts: long enough for each running process to make a call
local now, shift, holdUntil
local inDoubt -- the error reply of verbs that write an instant while the time is uncertain; otherwise false or nil

local function ms(instant) return string.format('%.3f', instant) end

-- Judges the change of TIME since the last call. Sets `now` and `shift`; moves a `holdUntil` that lies ahead, if a
-- doubtful stretch counts as passed. Returns the remaining doubt, '' for none; and 'clock <ms>' if it is now certain
-- that TIME has leapt. A doubt is a stretch of TIME that no process has seen pass: 'ms|since|denied'. `denied` is '1'
-- once a running process has called without having seen the stretch pass. The ledger's time excludes the stretch
-- while the doubt lasts. last: the ledger's time at the last call;  vouched: the time for which the caller vouches,
-- nil for none; accepted: whether TIME is taken as it is
local function judgeClock(last, vouched, doubt, accepted)
  local NEWCOMER_STEP_MS = 5000 -- the step that is doubted when the caller has just started and cannot vouch
  local unseen, since, denied = string.match(doubt or '', '^(.*)|(.*)|(.*)$')
  unseen, since = tonumber(unseen), tonumber(since)
  local function accept() -- counts the doubtful stretch as time that has passed
    shift, now = shift + unseen, now + unseen
    if holdUntil > last then holdUntil = holdUntil + unseen end
    return ''
  end
  if --[[rule:clock-set-back]] now < last - STEP_MS --[[end]] then
    local back = last - now
    shift, now = shift + back, last
    return '', string.format('clock %.0f', -back)
  end
  now = math.max(now, last)
  local more = 0
  if accepted then more = 0
  elseif vouched and now > vouched + STEP_MS and now > last + STEP_MS then more = now - math.max(last, vouched)
  elseif --[[rule:newcomers-do-not-vouch]] not vouched and now > last + NEWCOMER_STEP_MS --[[end]] then
    more = now - last
  end
  if --[[rule:unseen-time-is-left-out]] more > 0 --[[end]] then
    shift, now = shift - more, now - more
    unseen, since, denied = (unseen or 0) + more, now, vouched and '1' or denied or ''
  elseif not unseen then return ''
  elseif vouched and vouched + STEP_MS >= now + unseen then return accept() -- the caller has seen the stretch pass
  elseif vouched and denied == '' then since, denied = now, '1'
  elseif now >= since + DOUBT_MS then
    --[[rule:denied-time-is-a-leap]] if denied ~= '' then return '', string.format('clock %.0f', unseen) end --[[end]]
    return accept() -- no process was running that could have seen the stretch pass
  end
  return string.format('%.3f|%.3f|%s', unseen, since, denied)
end

-- Corrects a TIME that runs faster than real time, as processes measure by their own clocks (redis-clock.ts): lowers
-- `shift` by the time gained, in whole ms and in advance. To be called while `now` is still TIME. Among the claims of
-- processes, the largest one counts until it expires.
-- kept: EPOCH.excess, 'excess till from': the share of its time that TIME gains, when the claim expires, and up to
-- which time of the ledger the gain is already left out;  claimed: the share that the caller measured, nil for none
local function slowDown(last, kept, claimed)
  local MOST_EXCESS = 0.2 -- the largest share that counts: no clock is slewed by more than a tenth
  local LIFE_MS = 60000 -- how long a claimed share counts; a running process measures the share again in less time
  local excess, till, from = string.match(kept or '0 0 0', '^(%S+) (%S+) (%S+)$')
  excess, till, from = tonumber(excess), tonumber(till), tonumber(from)
  if till <= last then excess = 0 end
  if claimed and claimed >= excess then
    excess, till = --[[rule:a-claimed-rate-is-bounded]] math.min(claimed, MOST_EXCESS) --[[end]], now + shift + LIFE_MS
  end
  if excess == 0 then return call('HDEL', KEYS[1], EPOCH.excess) end
  from = math.max(last, math.min(from, last + 1 / excess))
  local passed = math.min(now + shift, till, last + LIFE_MS) - from
  local gained = --[[rule:what-a-fast-clock-gains-is-left-out]] math.max(0, math.ceil(passed * excess)) --[[end]]
  if gained == 0 and not claimed then return end
  shift = shift - gained
  local claim = string.format('%.4f %.3f %.3f', excess, till, from + gained / excess - gained)
  call('HSET', KEYS[1], EPOCH.shift, ms(shift), EPOCH.excess, claim)
end
