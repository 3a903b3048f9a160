--- @include "lib/epoch"
--[[
  record: whether a version of a shared record may be written in this partition
  (docs/decisions/0028-one-replicated-record.md). `known` is the version in force in this partition, '0' when there is
  none. ARG.expected is the version that the new record replaces; '' lets it replace any earlier version.
  Returns 'written' when the caller may write it, 'kept' when this version is already in force, 'overtaken' when it may
  not be written.
]]
local function judgeRecord(known)
  local expected, version = ARGV[ARG.expected], ARGV[ARG.version]
  if version == known then return 'kept' end
  if --[[rule:a-record-is-made-from-the-one-in-force]] expected ~= '' and expected ~= known --[[end]] then
    return 'overtaken'
  end
  if --[[rule:an-older-record-changes-nothing]] tonumber(version) < tonumber(known) --[[end]] then
    return 'overtaken'
  end
  return 'written'
end
