--- @include "lib/epoch"
--[[
  writes: what a call reads of many lanes is one command, and so is what it writes: writes are gathered, and `flush`
  sends them at the end. A redis.call costs more than what it does (measured: docs/decisions/0007-scripts-gather.md). A
  lane that comes twice in one call gets the values that its first item has set.
]]
local counted = {}
local function count(name, n) if n > 0 then counted[name] = (counted[name] or 0) + n end end

local dueWrites = {}
local dueRead = {} -- lane → instant written by this call
local soonest -- the earliest of these instants: dispatchers are woken when it comes before all others
local function setDue(lane, instant)
  local n = #dueWrites
  dueWrites[n + 1] = instant; dueWrites[n + 2] = lane
  dueRead[lane] = instant
  if not soonest or instant < soonest then soonest = instant end
end

-- Writes the record of each lane into a hash, and drops the lanes that have none. textOf: what is stored of a record,
-- where it is another text
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

-- What lane.lua and lease.lua have gathered; each includes itself here.
local flushes = {}

-- Every verb that writes ends with this; one that reads what it has written calls it before as well.
local function flush()
  for i = 1, #flushes do flushes[i]() end
  for name, n in pairs(counted) do
    call('HINCRBY', COUNTS, name, n)
    local kind = string.match(name, '^([^/]*)/') -- of an outcome that has a reason
    if kind then call('HINCRBY', COUNTS, kind, n) end
  end
  if soonest then
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    call('ZADD', DUE, unpack(dueWrites))
    if not first or soonest < tonumber(first) then call('PUBLISH', TAG .. KEY.wake, ms(soonest)) end
  end
  counted, dueWrites, soonest = {}, {}, nil
end
