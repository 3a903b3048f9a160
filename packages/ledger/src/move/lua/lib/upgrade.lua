--- @include "lib/guard"
--[[
  upgrade: where a partition stands. While its layout is `3>5`, an upgrade from 3 to 5 has closed it to processes of
  both versions, so nothing else writes here.
]]
local layout = call('HGET', KEYS[1], EPOCH.layout) -- false where none is written yet
local closedFrom = string.match(layout or '', '^(%d+)>' .. LAYOUT.version .. '$')
-- A ledger with crawls keeps a number of its own.
local isOfNow = layout == LAYOUT.version or layout == LAYOUT.withCrawls
-- These are written while the partition is closed, and replace the keys of their names when it is switched.
local NEXT_LEASES, NEXT_HELD = TAG .. KEY.leases .. '>next', TAG .. KEY.heldByPolicy .. '>next'
