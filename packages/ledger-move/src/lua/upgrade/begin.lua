--- @include "lib/layout"
--[[
  begin: closes the partition to both versions.

  KEYS     as guard
  ARGV     to; then the layouts that can be upgraded
  Returns  where the partition stands: 'under way', 'done', 'unused' (it was never called), or the other layout that
           it has
]]
local known = {}
for i = ARG.items, #ARGV do known[ARGV[i]] = true end
if isOfNow then return 'done' end
if not layout and call('HEXISTS', KEYS[1], EPOCH.run) == 0 then return 'unused' end
if isClosed and known[before] then return 'under way' end
if --[[rule:another-layout-is-not-upgraded]] not known[layout] --[[end]] then return layout or '1' end
call('HSET', KEYS[1], EPOCH.layout, layout .. '>' .. ARGV[ARG.to])
return 'under way'
