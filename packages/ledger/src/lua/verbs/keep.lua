--- @include "lib/origin"
--- @include "lib/body-budget"
--[[
  keep: a permit for an origin is held, so the facts about its robots.txt are kept for the full time.
  ARGV    ARGS.keep in calls.ts; hashes: of the bodies that its state needs, separated by blanks
  Returns 'kept', or 'gone' when its state has ended, or 'full' when there is no room for a body: nothing was changed
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
