--[[
  reap: leases that ended by themselves (at most 200 a call), and visits (as many).
  ARGV[4] quarantineMs   added to the gap after a lease that was begun: its sender may still be there
  Returns {epoch, now, begun, unbegun, then per robots question whose asker is gone: lane, fence, version, state}
  Keeps   the URL is still at the head of its lane. A begun one counts an attempt; a reservation counts nothing.
]]
local quarantine = tonumber(ARGV[4])
local found = redis.call('ZRANGE', INFLIGHT, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, 200)
for _, lane in ipairs(redis.call('ZRANGE', VISITS, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, 200)) do found[#found + 1] = lane end
local out = { epochId, ms(now), '0', '0' }
local begunCount, unbegunCount = 0, 0
readAll(LEASES, leaseRead, found)
readAll(MEM, memRead, found)
for i = 1, #found do
  local lane = found[i]
  local fence, list, notBefore, begun, gap, kind, _, least = leaseOf(lane)
  endLease(lane, kind)
  if not fence then
    setDue(lane, now + quarantine) -- a lease without its record: half of it was lost; be slow
  elseif begun == '' then
    unbegunCount = unbegunCount + 1
    setDue(lane, math.max(tonumber(notBefore), now))
  else
    begunCount = begunCount + 1
    local key = P .. 'o:' .. originOf(lane)
    local o = redis.call('HMGET', key, 'q', 'v', 's')
    setDue(lane, now + math.max(tonumber(gap), tonumber(least) or 0) + quarantine)
    if kind == 'page' then
      local tries, _, clock, why, high = memOf(lane)
      setMem(lane, tostring(tonumber(tries == '' and '0' or tries) + 1), list, clock, why, high)
    elseif o[1] == fence then
      local at = #out
      out[at + 1] = lane; out[at + 2] = fence; out[at + 3] = o[2] or '0'; out[at + 4] = o[3] or ''
    end
  end
end
count('reaped', begunCount)
count('reaped-unbegun', unbegunCount)
flush()
out[3] = tostring(begunCount); out[4] = tostring(unbegunCount)
return out
