--[[
  lease-step: the record of a lease in layouts 3 and 4 as layouts 5 and 6 have it. A lease of then is that of its own
  lane; the request of a secondary one may be sent from its beginning on, and when it ends stood in a set of its own.
]]
local function leaseOfNow(record, secondaryEnds)
  local fence, list, kind, failures, version, notBefore, startedAt, delay, least, ends, turnsAhead =
    struct.unpack('<sssssdddddd', record)
  local isSecondary = kind == KIND.hop or kind == KIND.paceGroup
  local of, requestAt = '', isSecondary and notBefore or 0
  return struct.pack(LEASE.format, fence, list, kind, failures, version, of, notBefore, startedAt, delay, least,
    requestAt, tonumber(secondaryEnds or ends), turnsAhead)
end
