--- @include "lib/epoch"
--[[
  closed-index: origins by the gate that holds them, with the instant at which the gate opens, so that operators can
  find these origins among millions. No verb decides by this index. An entry expires when its gate opens, and is removed
  when the gate is opened earlier. Gates that close only for moments (another URL of the lane, a robots fetch in
  flight) are left out.
]]
local INDEXED = { [GATE.backOff] = true, [GATE.paused] = true, [GATE.stopped] = true, [GATE.visitingHours] = true,
  [GATE.budget] = true, ['robots-unreachable'] = true, ['unknown-agent'] = true, blocked = true }

-- Records that a gate holds an origin until `till`. how: 'GT' keeps a later instant that is already recorded, because a
-- lane may be held for less time than its gate is closed (a URL expires); nil replaces the recorded instant.
local function indexClosed(gate, origin, till, how)
  if not INDEXED[gate] then return end
  local key = TAG .. KEY.closedIndex .. gate
  if how then call('ZADD', key, how, ms(till), origin) else call('ZADD', key, ms(till), origin) end
  call('ZREMRANGEBYSCORE', key, '-inf', ms(now))
  local beyond = call('ZCARD', key) - KEPT.closedIndex
  if beyond > 0 then call('ZREMRANGEBYRANK', key, 0, beyond - 1) end
  call('PEXPIRE', key, 2592000000)
end
local function indexOpened(gate, origin) call('ZREM', TAG .. KEY.closedIndex .. gate, origin) end
