--[[
  lease-step: the record of a lease in layout 2 as layout 3 has it.
]]
local function leaseOfNow(record)
  local fence, list, kind, failures, version, notBefore, startedAt, delay, least, ends =
    struct.unpack('<sssssddddd', record)
  local turnsAhead = 0
  if kind == 'clock' then kind = KIND.paceGroup end
  if kind == KIND.paceGroup or kind == KIND.hop then
    turnsAhead, version = tonumber(version) or 0, ''
    if notBefore == 0 then notBefore = startedAt end
  end
  return struct.pack(LEASE.format, fence, list, kind, failures, version, notBefore, math.max(startedAt, 0),
    math.max(delay, 0), math.max(least, 0), math.max(ends, 0), turnsAhead)
end
