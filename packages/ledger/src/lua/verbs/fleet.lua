--- @include "lib/lane"
--[[
  fleet: the running processes. Each announces itself once a second, and is removed when its announcement expires.
  ARGV    ARGS.fleet in calls.ts. member is 'role id slots', and its description (fleet.ts); or '' to read only.
          A life of 0 ms ends the announcement.
  Returns the number of leases and reservations of fetchers, then a text for each running process, in the form of member
]]
local key, member, life = TAG .. KEY.fleet, ARGV[ARG.member], tonumber(ARGV[ARG.lifeMs])
call('ZREMRANGEBYSCORE', key, '-inf', ms(now))
if member ~= '' then
  if life > 0 then call('ZADD', key, ms(now + life), member) else call('ZREM', key, member) end
end
return reply(tostring(slotsTaken()), unpack(call('ZRANGE', key, 0, 999)))
