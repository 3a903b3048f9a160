--- @include "lib/epoch"
--[[
  body-budget: limits how long robots.txt bodies are kept. Each registrable domain has a budget in bytes, and so have
  all domains together. Lengthening the life of a body by a share of a full life (`lifeMs`) spends that share of the
  body's size. A budget is renewed after a full life. Once a budget is spent, a body gets only a short life
  (`beyondLifeMs`), which is paid from a second budget of the same size. Bodies of origins for which no URL is stored
  and no permit is held have one budget per client token.
]]
local longest, short = tonumber(ARGV[ARG.lifeMs]), tonumber(ARGV[ARG.beyondLifeMs])

-- Spends `bytes` from the budget of `of` (a domain or a token) and from the budget of all, if both have room. Returns
-- whether both had room. The counters of what is spent expire `life` ms after their first use.
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

-- The new life, at most `most`, of a body of `bytes` bytes that would expire in `left` ms; nil when no budget has room.
local function lifeOf(bytes, left, most)
  local function added(life) return math.ceil((bytes + BODY.besideBytes) * (life - math.max(left, 0)) / life) end
  if most < longest then
    if left >= most / 2 then return left end
    local bytesOfToken = tonumber(ARGV[ARG.unclaimedBytes])
    return spend(TAG .. KEY.spentUnclaimed, added(most), most, ARGV[ARG.unclaimedBy], bytesOfToken) and most or nil
  end
  local domain, domainBytes = ARGV[ARG.domain], tonumber(ARGV[ARG.domainBytes])
  if left >= longest - DAY_MS then return left end -- budget was spent on this body within the last day
  if spend(TAG .. KEY.spent, added(longest), longest, domain, domainBytes) then return longest end
  if left >= short / 2 then return left end
  return spend(TAG .. KEY.spentBeyond, added(short), short, domain, domainBytes) and short or nil
end

-- Stores a robots.txt body; with the body '', lengthens the life of the body that is stored under this hash. Returns
-- the body's life, ms; nil when the body is not stored and no budget has room. most: the longest life, ms
local function keepBody(hash, body, most)
  local key = TAG .. KEY.body .. hash
  local left = call('PTTL', key)
  local bytes = body ~= '' and #body or call('STRLEN', key)
  if bytes == 0 then return most end -- the stored body has expired; the next robots fetch stores it again
  local life = lifeOf(bytes, left, most)
  if not life and left <= 0 then return nil end
  life = math.max(life or left, left)
  if body ~= '' then call('SET', key, body, 'PX', string.format('%d', life))
  elseif life > left then call('PEXPIRE', key, string.format('%d', life)) end
  return life
end
