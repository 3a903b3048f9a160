--- @include "lib/due"
--[[
  sample: adds the present state of the partition to the ring of the last hours. Any process may call it at any rate:
  one sample is taken per KEPT.sampleMs. A sample is JSON: Sample in views/types.ts.
  Returns 'sampled' or 'early'
]]
local key = TAG .. KEY.ring
local latest = call('LINDEX', key, 0)
if latest then
  local at = cjson.decode(latest).at
  -- If the clock was set back behind the latest sample, a new ring begins.
  if at > now then call('DEL', key) elseif now - at < KEPT.sampleMs then return reply('early') end
end
local counts, kept = call('HGETALL', COUNTS), {}
for i = 1, #counts, 2 do kept[counts[i]] = tonumber(counts[i + 1]) end
local first = instantOf(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
local jobs = TAG .. KEY.candidateJob
call('LPUSH', key, cjson.encode({
  at = math.floor(now), due = call('ZCOUNT', DUE, '-inf', ms(now)),
  lanes = call('ZCARD', DUE) + call('ZCARD', INFLIGHT), inFlight = slotsTaken(), unread = call('XLEN', OUTCOMES),
  lagMs = first and math.floor(math.max(0, now - tonumber(first))) or 0,
  jobs = call('LLEN', jobs .. 'wait') + call('LLEN', jobs .. 'active') + call('ZCARD', jobs .. 'prioritized'),
  counts = kept,
}))
call('LTRIM', key, 0, KEPT.samples - 1)
call('PEXPIRE', key, KEPT.ringMs)
return reply('sampled')
