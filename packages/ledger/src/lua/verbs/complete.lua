--- @include "lib/lease"
--- @include "lib/leaving"
--- @include "lib/back-off"
--[[
  complete: the exchange of a started lease has ended: outcome, first URL and next due time of the lane in one step.
  ARGV    ARGS.complete in calls.ts, then per lane COMPLETION; DONE if `ending` is 'done', OVER if it is 'over':
          done    like most completions: load normal, one outcome, and its id is not stored
          over    like most ends of secondary leases: load normal, and nothing leaves
          end     the URL leaves with the items of LEAVING that follow; none for a secondary lease
          again   the URL stays first, and its attempt is counted
          delayMs is the delay owed, elapsedMs the time since the last byte of the answer
          load is 'normal', or what back-off.lua reads
  Returns per lane 'completed' or 'stale'
  Keeps   the lease was started and is the caller's; otherwise nothing changes, and the call is counted as stale.
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
readLanes(withUrls) -- the other lanes' URLs are hardly ever needed
changesOf = lanes

-- The lane is due again when its delay has ended; after a secondary lease, when the waiting requests have had their
-- turn.
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
