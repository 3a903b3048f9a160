--- @include "lib/lane"
--- @include "lib/gates"
--- @include "lib/woken"
--[[
  policies: sets the policies of sites, all at once, and wakes the lanes that visiting hours or a budget held.
  ARGV    ARGS.policies in calls.ts, then per site POLICY_ITEM. version is that of the fleet's configuration. ask: '1' changes nothing.
  Returns the version in force, and '1' when there are more lanes to wake: ask again
  Keeps   a version that is not after the one in force changes nothing. A policy that stays keeps the instant of its change, and one that
          is dropped is remembered for a day, so that a longer delay also holds for a delay that runs. A lane that is woken is due at
          its own time.
]]
if inDoubt then return inDoubt end
local CLOSED, WAKING = TAG .. KEY.heldByPolicy, TAG .. KEY.waking
local version, known = ARGV[ARG.version], policiesText and string.match(policiesText, '^%d+') or '0'

local function write()
  local key, nowText = TAG .. KEY.policies, ms(now)
  local before, fields, told, count = {}, {}, {}, 0
  local stored = call('HGETALL', key)
  for i = 1, #stored, 2 do before[stored[i]] = stored[i + 1] end
  for i = ARG.items, #ARGV, POLICY_ITEM.size do
    local site, policy = ARGV[i + POLICY_ITEM.site], ARGV[i + POLICY_ITEM.policy]
    local changedAt, text = string.match(before[site] or '', '^(%S+) (.*)$')
    fields[#fields + 1] = site
    fields[#fields + 1] = (text == policy and changedAt or nowText) .. ' ' .. policy
    told[site], count = true, count + 1
  end
  for site, value in pairs(before) do
    local changedAt, text = string.match(value, '^(%S+) (.*)$')
    local isGone = text == POLICY.dropped
    if not told[site] and not (isGone and tonumber(changedAt) + POLICY_DAY_MS <= now) then
      fields[#fields + 1] = site
      fields[#fields + 1] = isGone and value or nowText .. ' ' .. POLICY.dropped
    end
  end
  call('DEL', key)
  for i = 1, #fields, 2000 do call('HSET', key, unpack(fields, i, math.min(i + 1999, #fields))) end
  call('HSET', KEYS[1], EPOCH.policies, string.format('%s %d %s', version, count, ms(now + POLICY_DAY_MS)))
  call('SUNIONSTORE', WAKING, WAKING, CLOSED)
  call('DEL', CLOSED)
end
if ARGV[ARG.ask] == '' and tonumber(version) > tonumber(known) then
  write()
  known = version
end

wakeLanes()
flush()
return reply(known, call('SCARD', WAKING) > 0 and '1' or '')
