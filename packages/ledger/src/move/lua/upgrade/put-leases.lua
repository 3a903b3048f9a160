--- @include "lib/upgrade"
--[[
  put-leases: writes some of the leases in their present form. The earlier form has neither `of` nor `requestAt`; for a
  secondary lease, `requestAt` is its earlier `notBefore`. Before the upgrade, the ends of secondary leases are in a
  sorted set.

  KEYS     as guard
  ARGV     cursor: of HSCAN;  count: how many leases a call handles
  Returns  the next cursor, '0' after the last ones; and the number of leases
]]
local cursor, found = unpack(call('HSCAN', TAG .. KEY.leases, ARGV[ARG.cursor], 'COUNT', ARGV[ARG.count]))
for i = 1, #found, 2 do
  local lane, record = found[i], found[i + 1]
  local fence, list, kind, failures, version, notBefore, startedAt, delay, least, ends, turnsAhead =
    struct.unpack('<sssssdddddd', record)
  local isSecondary = kind == KIND.hop or kind == KIND.paceGroup
  local requestAt = isSecondary and notBefore or 0
  ends = tonumber(call('ZSCORE', TAG .. 'secondary', lane) or ends)
  call('HSET', NEXT_LEASES, lane, struct.pack(LEASE.format, fence, list, kind, failures, version, '', notBefore,
    startedAt, delay, least, requestAt, ends, turnsAhead))
end
return { cursor, #found / 2 }
