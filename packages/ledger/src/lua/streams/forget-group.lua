--- @include "lib/groups"
--[[
  forget-group: removes a consumer group, and records the removal as an operation.

  KEYS[1]  the stream;  KEYS[2]  {tag}:operations
  ARGV     group: its name;  silentForMs: a group stays if one of its consumers was active within this time;
           isFirst: '1' records the removal even if the group had nothing to read;
           by, reason and crawl: written into the record of the operation
  Returns  'forgotten', 'absent' or 'still-read', and how many outcomes the group had not acknowledged
  Keeps    checking whether a consumer still reads, and removing the group, are one step.
]]
local stream, name = KEYS[1], ARGV[ARG.group]
local silentForMs = tonumber(ARGV[ARG.silentForMs])
local group
for _, row in ipairs(groupsOf(stream)) do
  local one = named(row)
  if one.name == name then group = one end
end
if not group then return { 'absent', 0 } end
for _, one in ipairs(call('XINFO', 'CONSUMERS', stream, name)) do
  if --[[rule:a-group-that-is-read-stays]] named(one).idle < silentForMs --[[end]] then return { 'still-read', 0 } end
end
local _, lag = unread(stream, group)
call('XGROUP', 'DESTROY', stream, name)
local left = lag + group.pending
if --[[rule:what-a-group-leaves-unread-is-written-down]] ARGV[ARG.isFirst] == '1' or left > 0 --[[end]] then
  call('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', OPERATION.at, string.format('%d', now), OPERATION.by, ARGV[ARG.by],
    OPERATION.action, 'forget-reader', OPERATION.origin, '', OPERATION.value, left, OPERATION.till, 0,
    OPERATION.reason, ARGV[ARG.reason], OPERATION.crawl, ARGV[ARG.crawl], OPERATION.group, name)
end
return { 'forgotten', left }
