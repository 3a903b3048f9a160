--- @include "lib/epoch"
--[[
  writes: gathers the writes of a call, so that one command writes many lanes; `flush` sends these commands at the end.
  The reason: a redis.call costs more than the work of the command (measured: docs/decisions/0007-scripts-gather.md). If
  a lane occurs twice in one call, the second item reads the values that the first item has set.
]]
local counted = {}
local function count(name, n) if n > 0 then counted[name] = (counted[name] or 0) + n end end

local dueWrites = {}
local dueRead = {} -- lane → the due time that this call has set
local soonest -- the earliest due time that this call has set; dispatchers are woken if it is before all stored ones
local function setDue(lane, instant)
  local n = #dueWrites
  dueWrites[n + 1] = instant; dueWrites[n + 2] = lane
  dueRead[lane] = instant
  if not soonest or instant < soonest then soonest = instant end
end

-- Writes the record of each lane into a hash, and deletes lanes that have no record. textOf: a function that returns
-- the stored form of a record; nil if `records` has the stored forms
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

-- Functions that write what a part such as lane.lua has gathered; each part adds its own function.
local flushes = {}

-- Sends all gathered writes. Every verb that writes calls this at its end; a verb that reads its own writes also
-- calls it before reading them.
local function flush()
  for i = 1, #flushes do flushes[i]() end
  for name, n in pairs(counted) do
    call('HINCRBY', COUNTS, name, n)
    local kind = string.match(name, '^([^/]*)/') -- an outcome 'kind/reason' also counts under its kind
    if kind then call('HINCRBY', COUNTS, kind, n) end
  end
  if soonest then
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
    call('ZADD', DUE, unpack(dueWrites))
    if not first or soonest < tonumber(first) then call('PUBLISH', TAG .. KEY.wake, ms(soonest)) end
  end
  counted, dueWrites, soonest = {}, {}, nil
end
