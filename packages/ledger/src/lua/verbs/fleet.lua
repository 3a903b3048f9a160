--- @include "lib/lane"
--[[
  fleet: which processes run. Each announces itself once a second, and is forgotten when its life is over.
  ARGV    ARGS.fleet in calls.ts. member is 'role id slots', and what it says of itself (fleet.ts); or '' to read only.
          A life of 0 ms ends the announcement.
  Returns how many leases and reservations of fetchers there are, then members
]]
local key, member, life = TAG .. KEY.fleet, ARGV[ARG.member], tonumber(ARGV[ARG.lifeMs])
call('ZREMRANGEBYSCORE', key, '-inf', ms(now))
if member ~= '' then
  if life > 0 then call('ZADD', key, ms(now + life), member) else call('ZREM', key, member) end
end
return reply(tostring(slotsTaken()), unpack(call('ZRANGE', key, 0, 999)))
