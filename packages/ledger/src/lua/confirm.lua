--[[
  confirm: the permit asked for again, by a holder who took long to connect: may what was started still be sent?
  ARGV[4] on: per lane that the request holds: lane, fence, version of the rules that it was judged by, '' for a visit
  Returns {epoch, now, 'granted' | why not: stale (no longer its lease) · held · shut (back-off, pause, block) · rules-changed}
  Keeps   nothing changes: who is refused gives back what it holds (complete: unused, release).
]]
local function whyNot(lane, fence, version)
  local owner, _, _, started, _, kind = leaseOf(lane)
  if owner ~= fence or started == '' then return 'stale' end
  local o = call('HMGET', P .. 'o:' .. originOf(lane), 'v', 'bu', 'pu', 'ku', 'q')
  local block = kind == 'clock' and '0' or o[4] -- a block ends the URLs of its own origin: other origins of the host go on
  if math.max(tonumber(o[2] or '0'), tonumber(o[3] or '0'), tonumber(block or '0')) > now then return 'back-off' end
  if version ~= '' and version ~= (o[1] or '0') then return 'rules-changed' end
  if kind == 'robots' and o[5] ~= fence then return 'stale' end
end

local answer = holdUntil > now and 'startup-hold'
for i = 4, #ARGV, 3 do answer = answer or whyNot(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
return { epochId, ms(now), answer or 'granted' }
