--- @include "lib/epoch"
--[[
  record: whether a version of a shared record may be written here (docs/decisions/0028-one-replicated-record.md).
  `known` is the version in force here, '0' when there is none; ARG.expected the version from which the record was made,
  '' for any earlier one.
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
