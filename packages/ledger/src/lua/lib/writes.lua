--- @include "lib/epoch"
--[[
  writes: a call reads many lanes with one command, and writes them with one: writes are gathered, and `flush` sends
  them at the end. A redis.call costs more than its work (measured: docs/decisions/0007-scripts-gather.md). A lane that
  occurs twice in one call has the values that its first item set.
]]
local counted = {}
local function count(name, n) if n > 0 then counted[name] = (counted[name] or 0) + n end end

local dueWrites = {}
local dueRead = {} -- lane → instant written by this call
local soonest -- the earliest of these instants; dispatchers are woken when it comes before all others
local function setDue(lane, instant)
  local n = #dueWrites
  dueWrites[n + 1] = instant; dueWrites[n + 2] = lane
  dueRead[lane] = instant
  if not soonest or instant < soonest then soonest = instant end
end

-- Writes the record of each lane into a hash, and removes lanes without one. textOf: the stored form of a record, if it
-- differs
local function writeAll(key, lanes, records, textOf)
  local writes, dropped, w, d = {}, {}, 0, 0
  for i = 1, #lanes do
    local lane = lanes[i]
    local record = records[lane]
    if textOf then record = textOf(lane, record) end
    if record then writes[w + 1], writes[w + 2], w = lane, record, w + 2 else d = d + 1; dropped[d] = lane end
  end
  if w > 0 then call('HSET', key, unpack(writes)) end
  if d > 0 then call('HDEL', key, unpack(dropped)) end
end

-- Writers of the records that lane.lua and lease.lua have gathered; each part adds itself here.
local flushes = {}

-- Every verb that writes ends with this; one that reads its own writes calls it before as well.
local function flush()
  for i = 1, #flushes do flushes[i]() end
  for name, n in pairs(counted) do
    call('HINCRBY', COUNTS, name, n)
    local kind = string.match(name, '^([^/]*)/') -- the kind of an outcome that has a reason
    if kind then call('HINCRBY', COUNTS, kind, n) end
  end
  if soonest then
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    call('ZADD', DUE, unpack(dueWrites))
    if not first or soonest < tonumber(first) then call('PUBLISH', TAG .. KEY.wake, ms(soonest)) end
  end
  counted, dueWrites, soonest = {}, {}, nil
end
