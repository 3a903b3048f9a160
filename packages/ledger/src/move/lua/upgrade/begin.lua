--- @include "lib/upgrade"
--[[
  begin: closes the partition to processes of the earlier and of the new layout.

  KEYS     as guard
  ARGV     the layouts that can be upgraded
  Returns  how far the partition is: 'closed', 'switched' or 'unused' (it was never called); or, if the partition cannot
           be upgraded, its layout
]]
if isOfNow then return 'switched' end
if not layout and call('HEXISTS', KEYS[1], EPOCH.run) == 0 then return 'unused' end
local from, known = closedFrom or layout, {}
for i = ARG.items, #ARGV do known[ARGV[i]] = true end
if not known[from] then return layout or '1' end
call('HSET', KEYS[1], EPOCH.layout, from .. '>' .. LAYOUT.version)
return 'closed'
