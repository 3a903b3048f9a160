--- @include "lib/lease"
--- @include "lib/leaving"
--- @include "lib/back-off"
--[[
  complete: ends a started lease whose exchange has ended. In one step, the outcome is written, the URL leaves the lane
  or stays first, and the lane gets its next due time.
  ARGV    ARGS.complete in calls.ts, then per lane COMPLETION; DONE if `ending` is 'done', OVER if it is 'over':
          end     the URL leaves with the items of LEAVING that follow; a secondary lease has no such items
          done    the usual case of `end`: load 'normal', one outcome, and the id of its URL is not stored
          over    the usual end of a secondary lease: load 'normal', and no URL leaves
          again   the URL stays first, and the attempt is counted
          delayMs is the delay owed, elapsedMs the time since the last byte of the answer
          load is 'normal', or the text that back-off.lua describes
  Returns per lane 'completed' or 'stale'
  Keeps   a lease that was not started, or is not the caller's, stays as it is, and the completion is counted as stale.
]]
if --[[rule:complete-waits-for-the-clock]] inDoubt --[[end]] then return inDoubt end

local function itemsOf(i) return tonumber(ARGV[i + COMPLETION.leaving]) end
local lanes, withUrls, starts = {}, {}, {}
local i, n = ARG.items, 0
local last = #ARGV
while i <= last do
  local lane, ending = ARGV[i + COMPLETION.lane], ARGV[i + COMPLETION.ending]
  n = n + 1
  lanes[n], starts[n] = lane, i
  if ending == 'over' then i = i + OVER.size
  else
    withUrls[#withUrls + 1] = lane
    i = i + COMPLETION.size + (ending == 'done' and 0 or itemsOf(i) * LEAVING.size)
  end
end
readLeases(lanes)
readLanes(withUrls) -- for lanes whose ending is 'over', the URLs are hardly ever needed
changesOf = lanes

-- Makes a lane due when its delay has ended; after a secondary lease, when the `turnsAhead` requests that wait in front
-- of the lane's own URLs have had their turns.
local function schedule(lane, startedAt, ended, owed, turnsAhead, of)
  local opens = --[[rule:the-delay-counts-from-the-end]] ended + owed --[[end]]
  -- A lane without URLs whose delay is over is deleted at once, as reserve would do.
  if opens <= now and --[[rule:a-lane-with-work-stays]] not hasWork(lane) --[[end]] then
    forgetMemory(lane)
    forgetEnded(lane)
    return
  end
  setEnded(lane, ended, owed, of)
  if --[[rule:own-urls-wait-their-turn]] turnsAhead > 0 --[[end]] and hasWork(lane) then
    makeDue(lane, opens, opens + turnsAhead * math.max(owed, 50), GATE.paceGroup)
  else --[[rule:an-empty-lane-is-still-due]] setDue(lane, opens) --[[end]] end
end

local MAY_END = { done = LIFE.done, ['end'] = LIFE.end, again = LIFE.again, over = LIFE.over }
-- Handles one completion, whose item of ARGV begins at i.
local function completeOne(lane, i)
  local record = leases[lane]
  local LEASE_FIELDS
  if record then LEASE_FIELDS = struct.unpack(LEASE.format, record) end
  local ending, load = ARGV[i + COMPLETION.ending], 'normal'
  if not (record and MAY_END[ending](fence, startedAt, kind, ends, ARGV[i + COMPLETION.fence])) then return 'stale' end
  local sentAt = latestSentAt(startedAt, requestAt)
  local ended = endedAt(ARGV[i + COMPLETION.elapsedMs], sentAt)
  if ending == 'done' then
    writeOutcome(ARGV[i + DONE.json], ARGV[i + DONE.kind], list)
    dropFirst(lane, list, 1)
  elseif ending ~= 'over' then
    load = ARGV[i + COMPLETION.load]
    local first = i + COMPLETION.size
    local heads = leave(first, first + itemsOf(i) * LEAVING.size - 1, list, ended)
    if heads > 0 then dropFirst(lane, list, heads) end
  end
  endLease(lane)
  if ending == 'again' then countAttempt(lane, list)
  elseif not isSecondary(kind) and memoryOf(lane)[MEMORY.heldBy] ~= '' then
    changeMemory(lane)[MEMORY.heldBy] = ''
  end
  local owed = owedAfter(lane, kind, fence, of, tonumber(ARGV[i + COMPLETION.delayMs]), leastDelayMs)
  schedule(lane, startedAt, ended, owed, turnsAhead, of)
  if load ~= 'normal' then backOff(lane, load, sentAt, ended) end
  local isWell = load == 'normal' or --[[rule:a-wait-is-a-good-answer]] string.find(load, '^asked%-to%-wait ') --[[end]]
  if isWell and (--[[rule:good-answers-count-for-permits]] failures ~= '' or kind == KIND.permit --[[end]]) then
    answeredWell(lane)
  end
  return 'completed'
end

local out = reply()
local stale = 0
for n = 1, #lanes do
  local answer = completeOne(lanes[n], starts[n])
  if answer == 'stale' then stale = stale + 1 end
  out[#out + 1] = answer
end
count('stale-complete', stale)
flush()
return out
