--- @include "lib/guard"
--[[
  upgrade: how far a partition is upgraded. While its layout is `3>5`, an upgrade from layout 3 to 5 has closed the
  partition to processes of both layouts, so only the upgrade writes here.
]]
local layout = call('HGET', KEYS[1], EPOCH.layout) -- false if no layout is written yet
local closedFrom = string.match(layout or '', '^(%d+)>' .. LAYOUT.version .. '$')
-- Two numbers stand for the present layout: a ledger with crawls has LAYOUT.withCrawls.
local isOfNow = layout == LAYOUT.version or layout == LAYOUT.withCrawls
-- Keys that the upgrade fills while the partition is closed; switch.lua moves their content to KEY.leases and to
-- KEY.heldByPolicy.
local NEXT_LEASES, NEXT_HELD = TAG .. KEY.leases .. '>next', TAG .. KEY.heldByPolicy .. '>next'
