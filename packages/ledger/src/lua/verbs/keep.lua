--- @include "lib/origin"
--- @include "lib/body-budget"
--[[
  keep: keeps the facts about an origin's robots.txt for the full time, because a permit for the origin is held.
  ARGV    ARGS.keep in calls.ts; hashes: of the bodies that the robots state needs, separated by blanks
  Returns 'kept'; or 'gone' if the robots state has ended; or 'full' if a body has no room (body-budget.lua).
          After 'gone' and 'full' the robots state ends when it would have ended without this call.
]]
local key = originKey(ARGV[ARG.origin])
local ends = call('HGET', key, FIELD.robotsStateEnds)
if not ends then return reply('kept') end
if tonumber(ends) <= now then return reply('gone') end
local life = longest
for hash in string.gmatch(ARGV[ARG.hashes], '%S+') do
  local lives = keepBody(hash, '', longest)
  if not lives then return reply('full') end
  life = math.min(life, lives)
end
if call('PTTL', key) <= life then
  call('PEXPIRE', key, string.format('%d', life))
  call('HDEL', key, FIELD.robotsStateEnds)
else call('HSET', key, FIELD.robotsStateEnds, ms(now + life)) end
return reply('kept')
