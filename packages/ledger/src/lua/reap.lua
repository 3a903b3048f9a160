--[[
  reap: leases that ended by themselves (at most 200 a call), and visits (as many).
  ARGV[4] quarantineMs   added to the delay after a lease that was started: its sender may still be there
  Returns {epoch, now, started, unstarted, '1' when there may be more, then per robots question whose asker is gone: lane, fence, version, state}
  Keeps   the URL is still at the head of its lane. A started one counts an attempt; a reservation counts nothing.
]]
local FORGOTTEN_MS = 3600000 -- after the latest instant that anybody was told
local quarantine = tonumber(ARGV[4])
local found = call('ZRANGE', INFLIGHT, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, 200)
local own = #found
for _, lane in ipairs(call('ZRANGE', VISITS, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, 200)) do found[#found + 1] = lane end
local out = { epochId, ms(now), '0', '0', #found >= 200 and '1' or '' }
local begunCount, unbegunCount = 0, 0
local later = {} -- found by the end of their reservation
readAll(LEASES, leaseRead, found)
readLanes(found)
for i = 1, #found do
  local lane = found[i]
  local fence, list, notBefore, started, delay, kind, _, least, _, ends = leaseOf(lane)
  local isOver = not fence or ends == '' or tonumber(ends) <= now
  if isOver then endLease(lane, i > own and 'clock' or kind) else later[#later + 1] = ends; later[#later + 1] = lane end
  if not isOver then -- the next look at it is the last one
  elseif not fence then
    setDue(lane, now + quarantine) -- a lease without its record: half of it was lost; be slow
  elseif started == '' then
    unbegunCount = unbegunCount + 1
    setDue(lane, math.max(tonumber(notBefore), now))
  else
    begunCount = begunCount + 1
    local key = P .. 'o:' .. originOf(lane)
    local o = call('HMGET', key, 'q', 'v', 's', 'se')
    setDue(lane, now + math.max(tonumber(delay), tonumber(least) or 0) + quarantine)
    if kind == 'page' or kind == 'robots-page' then
      local tries, _, clock, why, high = memOf(lane)
      setMem(lane, tostring(tonumber(tries == '' and '0' or tries) + 1), list, clock, why, high)
    elseif kind == 'robots' and o[1] == fence then -- of any other kind nothing was asked for: it ends by itself
      local at = #out
      out[at + 1] = lane; out[at + 2] = fence; out[at + 3] = o[2] or '0'; out[at + 4] = stateOf(o[3], o[4])
    end
  end
end
if #later > 0 then call('ZADD', INFLIGHT, unpack(later)) end
call('ZREMRANGEBYSCORE', P .. 'changed', '-inf', string.format('%.0f', (now - CHANGES_KEPT_MS) * 1000))
-- queues that nobody came to any more, as they come to hand
local queues = call('HRANDFIELD', QUEUES, 20, 'WITHVALUES')
for i = 1, #queues, 2 do
  if tonumber(string.match(queues[i + 1], '^[^|]*')) + FORGOTTEN_MS < now then call('HDEL', QUEUES, queues[i]) end
end
count('reaped', begunCount)
count('reaped-unstarted', unbegunCount)
flush()
out[3] = tostring(begunCount); out[4] = tostring(unbegunCount)
return out
