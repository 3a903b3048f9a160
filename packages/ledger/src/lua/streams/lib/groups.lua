--[[
  groups: the consumer groups of a stream of outcomes, and the entries that each has not acknowledged.
]]
local call = redis.call
-- Converts a reply of alternating names and values to a table.
local function named(row)
  local one = {}
  for i = 1, #row, 2 do one[row[i]] = row[i + 1] end
  return one
end
local function groupsOf(stream) return call('EXISTS', stream) == 1 and call('XINFO', 'GROUPS', stream) or {} end
-- The oldest entry that a group has not acknowledged, '' when there is none; the lag, which is the number of entries
-- not yet delivered to the group; and 1 if this number is a lower bound, else 0.
local function unread(stream, group)
  local after = '(' .. group['last-delivered-id']
  local lag, isLeast = group.lag, 0
  if not lag then -- after entries were deleted, Redis reports no lag
    lag = #call('XRANGE', stream, after, '+', 'COUNT', READERS.counted + 1)
    if lag > READERS.counted then lag, isLeast = READERS.counted, 1 end
  end
  local oldest = group.pending > 0 and call('XPENDING', stream, group.name)[2]
  if not oldest and lag > 0 then
    local first = call('XRANGE', stream, after, '+', 'COUNT', 1)[1]
    oldest = first and first[1]
  end
  return oldest or '', lag, isLeast
end
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function ageOf(entry) return math.max(0, now - tonumber(string.match(entry, '^%d+'))) end
