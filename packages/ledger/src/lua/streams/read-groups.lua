--- @include "lib/groups"
--[[
  read-groups: lists the readers of a stream of outcomes.

  KEYS[1]  the stream
  Returns  JSON, an array of groups: group (its name), oldest (the oldest entry not acknowledged), ageMs of that entry,
           id (of the candidate in that entry, if the entry can be read), lag, least (1 if the lag is a lower bound),
           pending, consumers (name, idleMs, pending). At most READERS.shown groups, those with most to read.
]]
local stream, found = KEYS[1], {}
for _, row in ipairs(groupsOf(stream)) do
  local group = named(row)
  local oldest, lag, isLeast = unread(stream, group)
  found[#found + 1] = {
    group = group.name, oldest = oldest, lag = lag, least = isLeast, pending = group.pending, consumers = {},
  }
end
table.sort(found, function(a, b) return a.lag + a.pending > b.lag + b.pending end)
for i = #found, READERS.shown + 1, -1 do found[i] = nil end
for _, one in ipairs(found) do
  for _, row in ipairs(call('XINFO', 'CONSUMERS', stream, one.group)) do
    local consumer = named(row)
    table.insert(one.consumers, { name = consumer.name, idleMs = consumer.idle, pending = consumer.pending })
  end
  if one.oldest ~= '' then
    one.ageMs = ageOf(one.oldest)
    local entry = call('XRANGE', stream, one.oldest, one.oldest, 'COUNT', 1)[1]
    local ok, outcome = pcall(cjson.decode, entry and entry[2] and entry[2][2] or '')
    if ok and type(outcome) == 'table' and type(outcome.id) == 'string' then one.id = outcome.id end
  end
end
return cjson.encode(found)
