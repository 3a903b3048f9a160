--- @include "lib/lease"
--- @include "lib/leaving"
--- @include "lib/back-off"
--[[
  complete: the exchange of a started lease is over: outcome, head and next due time of the lane in one step.
  ARGV    ARGS.complete in calls.ts, then per lane COMPLETION, with DONE in place of its last two parts where `ending` is 'done':
          done    what most completions are: load normal, one outcome, and its id is not stored
          end     the URL leaves with the items of LEAVING that follow; none for a secondary lease
          again   the URL stays at the head, and its attempt is counted
          delayMs is the delay owed, elapsedMs how much of it has passed since the last byte
          load is 'normal', or what back-off.lua reads
  Returns per lane 'completed' or 'stale'
  Keeps   the lease was started and is the caller's; otherwise nothing changes, and it is counted.
]]
if --[[rule:complete-waits-for-the-clock]] inDoubt --[[end]] then return inDoubt end

local function itemsOf(i) return ARGV[i + COMPLETION.ending] == 'done' and 0 or tonumber(ARGV[i + COMPLETION.leaving]) end
local lanes, starts = {}, {}
local i = ARG.items
while i <= #ARGV do
  lanes[#lanes + 1], starts[#starts + 1] = ARGV[i + COMPLETION.lane], i
  i = i + COMPLETION.size + itemsOf(i) * LEAVING.size
end
readLeases(lanes)
readLanes(lanes)

-- The outcomes of one completion, and what else is told by them. Returns the load.
local function record(i, lane, list, isDone)
  if isDone then
    writeOutcome(ARGV[i + DONE.json], ARGV[i + DONE.kind])
    dropFirst(lane, list, 1)
    return 'normal'
  end
  local first = i + COMPLETION.size
  local heads = leave(first, first + itemsOf(i) * LEAVING.size - 1)
  if heads > 0 then dropFirst(lane, list, heads) end
  return ARGV[i + COMPLETION.load]
end

-- The lane is due again when the delay is over; after a secondary lease, when the requests that wait have had their turn.
local function schedule(lane, lease, ended, owed)
  local opens = --[[rule:the-delay-counts-from-the-end]] ended + owed --[[end]]
  -- A lane without URLs whose delay is over is forgotten at once, as reserve would do.
  if opens <= now and --[[rule:a-lane-with-work-stays]] not hasWork(lane) --[[end]] then forgetMemory(lane)
  elseif --[[rule:own-urls-wait-their-turn]] lease[LEASE.turnsAhead] > 0 --[[end]] and hasWork(lane) then
    giveBack(lane, opens, opens + lease[LEASE.turnsAhead] * math.max(owed, 50), GATE.paceGroup)
  else --[[rule:an-empty-lane-is-still-due]] setDue(lane, opens) --[[end]] end
end

local out = reply()
local stale = 0
for n = 1, #lanes do
  local lane, i = lanes[n], starts[n]
  local ending, lease = ARGV[i + COMPLETION.ending], leaseOf(lane)
  if not (lease and --[[rule:complete-minds-the-fence]] lease[LEASE.fence] == ARGV[i + COMPLETION.fence] --[[end]]
    and --[[rule:complete-needs-a-start]] isStarted(lease) --[[end]]) then
    stale = stale + 1
    out[#out + 1] = 'stale'
  else
    out[#out + 1] = 'completed'
    local kind, list, startedAt = lease[LEASE.kind], lease[LEASE.list], lease[LEASE.startedAt]
    local load = record(i, lane, list, ending == 'done')
    local ended = now - --[[rule:elapsed-time-is-bounded]] math.min(tonumber(ARGV[i + COMPLETION.elapsedMs]), now - startedAt) --[[end]]
    endLease(lane, kind)
    if ending == 'again' then countAttempt(lane, list)
    elseif memories[lane] and not isSecondary(kind) and memories[lane][MEMORY.heldBy] ~= '' then changeMemory(lane)[MEMORY.heldBy] = '' end
    local owed = math.max(tonumber(ARGV[i + COMPLETION.delayMs]), --[[rule:a-longer-delay-counts-in-flight]] lease[LEASE.leastDelayMs] --[[end]])
    schedule(lane, lease, ended, owed)
    if load ~= 'normal' then backOff(originOf(lane), load, startedAt, ended)
    elseif lease[LEASE.failures] ~= '' then call('HDEL', originKey(originOf(lane)), FIELD.failures) end
  end
end
count('stale-complete', stale)
flush()
return out
