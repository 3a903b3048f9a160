--- @include "lib/lane"
--- @include "lib/lease"
--- @include "lib/origin"
--[[
  view: adds lanes and origins to the reply of a view. The verbs of views only read, and every part of them is O(1),
  O(log n) or bounded. A lane in a reply is LANE_ROW in calls.ts. An origin in a reply is a number of texts, and then
  that many texts: alternating field names and values.
]]
local MOST_CRAWLS = 100 -- most crawls of one lane whose URLs are counted
local out = reply()

-- Whether the host of an origin is `name` or a name below `name`.
local function isBelow(origin, name)
  local host = hostOf(origin)
  return host ~= nil and (host == name or string.sub(host, -#name - 1) == '.' .. name)
end

local function showOrigin(origin)
  local fields = call('HGETALL', originKey(origin))
  local policy = policyOf(origin)
  if policy.site then
    fields[#fields + 1], fields[#fields + 2] = FIELD.policy, policy.site .. ' ' .. policy.text
    if policy.budget then
      fields[#fields + 1], fields[#fields + 2] = FIELD.requestsToday, tostring(requestsTo(namesOf(origin)[1]))
    end
  end
  out[#out + 1] = tostring(#fields)
  for _, value in ipairs(fields) do out[#out + 1] = value end
end

-- All gates that keep a lane's pages from being requested, and until when, as text: `gate instant gate instant …`.
local function closedGatesOf(lane, list)
  local o = factsOf(lane)
  local closed = GATES.pageGrantEach(lane, o, versionOf(o), '', '', list)
  for i = 2, #closed, 2 do closed[i] = ms(closed[i]) end
  return table.concat(closed, ' ')
end

local function showLane(lane)
  local memory, first, lease = memoryOf(lane), firstOf(lane), leaseOf(lane)
  local list = memory[MEMORY.list]
  local high, normal = call('LLEN', listKey(LIST.high, lane)), first and 1 + call('LLEN', normalList(lane)) or 0
  local pending, isFirst = high + normal, true
  if memory[MEMORY.hasHigh] == OTHERS.crawls then
    for _, crawl in ipairs(call('ZRANGE', TAG .. KEY.turns .. lane, 0, MOST_CRAWLS - 1)) do
      if crawl ~= CRAWLS.default then
        local highOf, normalOf = listOf(LIST.high, crawl), listOf(LIST.normal, crawl)
        local urgent = call('LLEN', listKey(highOf, lane))
        pending = pending + urgent + call('LLEN', listKey(normalOf, lane))
        if isFirst and list == '' then list = urgent > 0 and highOf or normalOf end
      end
      isFirst = false
    end
  end
  if list == '' then list = high > 0 and LIST.high or LIST.normal end
  local at = #out
  out[at + LANE_ROW.lane], out[at + LANE_ROW.pending] = lane, tostring(pending)
  local due = call('ZSCORE', DUE, lane)
  if due and tonumber(due) < 0 then due = ms(now) end -- a place in the line of due lanes (line.lua) is no instant
  out[at + LANE_ROW.due] = due or ''
  out[at + LANE_ROW.lease] = lease and (isStarted(lease) and 'started' or 'reserved') or ''
  -- heldBy counts only while the lane has an ownDue: waking a lane removes ownDue, and leaves heldBy.
  out[at + LANE_ROW.heldBy] = memory[MEMORY.ownDue] ~= '' and memory[MEMORY.heldBy] or ''
  local head = firstIn(lane, list)
  out[at + LANE_ROW.head], out[at + LANE_ROW.list] = head or '', list
  out[at + LANE_ROW.attempts] = attemptsFor(lane, list, head)
  out[at + LANE_ROW.closed] = closedGatesOf(lane, list)
end
