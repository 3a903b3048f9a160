--- @include "lib/guard"
--[[
  layout: the layout of the partition before this step, false where none is written yet. While it is `3>5`, an
  upgrade from 3 to 5 has
  closed the partition to processes of both versions, so nothing else writes here.

  ARGV     has `to`, the layout of this version
]]
local layout = call('HGET', KEYS[1], EPOCH.layout)
local before, after = string.match(layout or '', '^(%d+)>(%d+)$')
local isClosed = after == ARGV[ARG.to]
-- A ledger with crawls keeps a number of its own.
local isOfNow = layout == ARGV[ARG.to] or layout == LAYOUT.withCrawls
local ofNow = call('EXISTS', TAG .. KEY.crawls) == 1 and LAYOUT.withCrawls or ARGV[ARG.to]
