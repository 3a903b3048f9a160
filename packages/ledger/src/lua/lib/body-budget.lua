--- @include "lib/epoch"
--[[
  body-budget: limits how long a robots.txt body is kept. Each registrable domain and all domains together have a
  budget. Lengthening the life of a body by a share of a full life spends that share of its size; the budget is renewed
  after a full life. Beyond the budget a body gets a short life, for which there is another budget of the same size.
  Bodies of origins for which no URL is stored and no permit is held have one budget per client token.
]]
local longest, short = tonumber(ARGV[ARG.lifeMs]), tonumber(ARGV[ARG.beyondLifeMs])

-- Spends from both budgets if both have room, and returns whether they had; the counters expire after this life.
local function spend(counter, bytes, life, of, most)
  local counters = { [counter .. ':' .. of] = most, [counter] = tonumber(ARGV[ARG.allBytes]) }
  for name, budget in pairs(counters) do
    if tonumber(call('GET', name) or '0') + bytes > budget then return false end
  end
  for name in pairs(counters) do
    if call('INCRBY', name, bytes) == bytes then call('PEXPIRE', name, life) end
  end
  return true
end

-- The life, ms, to give a body of this size that has `left` ms left, at most `most`; nil when there is no room for it.
local function lifeOf(bytes, left, most)
  local function added(life) return math.ceil((bytes + BODY.besideBytes) * (life - math.max(left, 0)) / life) end
  if most < longest then
    if left >= most / 2 then return left end
    local bytesOfToken = tonumber(ARGV[ARG.unclaimedBytes])
    return spend(TAG .. KEY.spentUnclaimed, added(most), most, ARGV[ARG.unclaimedBy], bytesOfToken) and most or nil
  end
  local domain, domainBytes = ARGV[ARG.domain], tonumber(ARGV[ARG.domainBytes])
  if left >= longest - DAY_MS then return left end -- already spent less than a day ago
  if spend(TAG .. KEY.spent, added(longest), longest, domain, domainBytes) then return longest end
  if left >= short / 2 then return left end
  return spend(TAG .. KEY.spentBeyond, added(short), short, domain, domainBytes) and short or nil
end

-- Writes the body if it is given, and lengthens the life of a stored one. Returns its life, ms; nil when there is no
-- room for it. most: the longest life
local function keepBody(hash, body, most)
  local key = TAG .. KEY.body .. hash
  local left = call('PTTL', key)
  local bytes = body ~= '' and #body or call('STRLEN', key)
  if bytes == 0 then return most end -- the body is gone; the next robots fetch brings it again
  local life = lifeOf(bytes, left, most)
  if not life and left <= 0 then return nil end
  life = math.max(life or left, left)
  if body ~= '' then call('SET', key, body, 'PX', string.format('%d', life))
  elseif life > left then call('PEXPIRE', key, string.format('%d', life)) end
  return life
end
