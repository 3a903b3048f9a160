--- @include "lib/guard"
--[[
  upgrade: how far a partition is upgraded. While its layout is `3>5`, an upgrade from 3 to 5 has closed it to processes
  of both versions, so nothing else writes here.
]]
local layout = call('HGET', KEYS[1], EPOCH.layout) -- false where none is written yet
local closedFrom = string.match(layout or '', '^(%d+)>' .. LAYOUT.version .. '$')
-- The layout of a ledger with crawls has a different number.
local isOfNow = layout == LAYOUT.version or layout == LAYOUT.withCrawls
-- Keys that are written while the partition is closed; switch.lua moves their content to the keys of these names.
local NEXT_LEASES, NEXT_HELD = TAG .. KEY.leases .. '>next', TAG .. KEY.heldByPolicy .. '>next'
