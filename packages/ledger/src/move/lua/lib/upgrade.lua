--- @include "lib/guard"
--[[
  upgrade: how far a partition is upgraded. While its layout is `3>5`, an upgrade from 3 to 5 has closed it to processes
  of both versions, so nothing else writes here.
]]
local layout = call('HGET', KEYS[1], EPOCH.layout) -- false where none is written yet
local closedFrom = string.match(layout or '', '^(%d+)>' .. LAYOUT.version .. '$')
-- The layout of a ledger with crawls has a different number.
local isOfNow = layout == LAYOUT.version or layout == LAYOUT.withCrawls
-- Written while the partition is closed; replace the keys of these names when it is switched.
local NEXT_LEASES, NEXT_HELD = TAG .. KEY.leases .. '>next', TAG .. KEY.heldByPolicy .. '>next'
