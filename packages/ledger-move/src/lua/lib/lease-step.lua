--[[
  lease-step: how the record of a lease changed from the earlier layout to this one. No layout before this one was
  released, so a
  record stays as it is.
]]
local function leaseOfNow(record) return record end
