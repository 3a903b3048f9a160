--- @include "lib/guard"
--[[
  rename-gate: a lane's record names the gate that holds it: `|attempts|list|ownDue|heldBy|hasHigh|` and its first
  URL.

  KEYS     as guard
  ARGV     before and after: names of the gate; then lanes
]]
for i = ARG.items, #ARGV do
  local record = call('HGET', TAG .. KEY.lanes, ARGV[i])
  local front, gate, behind = string.match(record or '', '^(|[^|]*|[^|]*|[^|]*|)([^|]*)(|.*)$')
  if --[[rule:one-gate-is-renamed]] gate == ARGV[ARG.before] --[[end]] then
    call('HSET', TAG .. KEY.lanes, ARGV[i], front .. ARGV[ARG.after] .. behind)
  end
end
