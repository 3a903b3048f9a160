--- @include "lib/epoch"
--[[
  body-budget: how long a robots.txt body is kept. Bodies up to BODY.freeBytes cost no more than what else is known of
  an origin. Larger ones have a budget, one of the registrable domain and one of all domains: each life that a body is
  given is spent until as long a time is over. Beyond the budget lives are short, and these have a budget as large.
]]
local longest, short = tonumber(ARGV[ARG.lifeMs]), tonumber(ARGV[ARG.beyondLifeMs])

-- Spends of both budgets if both have room; the counters end after that life.
local function spend(counter, bytes, life)
  local counters = {
    [counter .. ':' .. ARGV[ARG.domain]] = tonumber(ARGV[ARG.domainBytes]),
    [counter] = tonumber(ARGV[ARG.allBytes]),
  }
  for name, budget in pairs(counters) do
    if tonumber(call('GET', name) or '0') + bytes > budget then return false end
  end
  for name in pairs(counters) do
    if call('INCRBY', name, bytes) == bytes then call('PEXPIRE', name, life) end
  end
  return true
end

-- How long a body of this size lives from now on; nil when there is no room for it.
local function lifeOf(bytes, left)
  if bytes <= BODY.freeBytes then return longest end
  if left >= longest - DAY_MS then return left end -- spent less than a day ago
  if spend(TAG .. KEY.spent, bytes, longest) then return longest end
  if left >= short / 2 then return left end
  return spend(TAG .. KEY.spentBeyond, bytes, short) and short or nil
end

-- Writes the body if it is given, and lengthens the life of one that is stored; nil when there is no room for it.
local function keepBody(hash, body)
  local key = TAG .. KEY.body .. hash
  local left = call('PTTL', key)
  local bytes = body ~= '' and #body or call('STRLEN', key)
  if bytes == 0 then return longest end -- it is gone: the next robots fetch brings it again
  local life = lifeOf(bytes, left)
  if not life and left <= 0 then return nil end
  life = math.max(life or left, left)
  if body ~= '' then call('SET', key, body, 'PX', string.format('%d', life))
  elseif life > left then call('PEXPIRE', key, string.format('%d', life)) end
  return life
end
