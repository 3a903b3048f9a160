--- @include "lib/guard"
--[[
  put-body: the body of a robots.txt in the partition of an origin whose rules are in it.

  KEYS     as guard
  ARGV     hash: its name;  bytes: its length;  domain: the registrable domain of the origin;  lifeMs: what is left
           of its
           life;  dump: as DUMP returns it
  Keeps    a body that costs something is spent here from now on (lib/body-budget.lua of the ledger), so that a
           domain does
           not get its budget anew by a change. Nothing is refused: what is over the budget leaves no room for the
           next one.
]]
local key, bytes = TAG .. KEY.body .. ARGV[ARG.hash], tonumber(ARGV[ARG.bytes])
if call('EXISTS', key) == 0 and --[[rule:a-body-that-comes-is-spent]] bytes > BODY.freeBytes --[[end]] then
  local counter = TAG .. KEY.spent
  for _, name in ipairs({ counter, counter .. ':' .. ARGV[ARG.domain] }) do
    call('INCRBY', name, bytes)
    if call('PTTL', name) < tonumber(ARGV[ARG.lifeMs]) then call('PEXPIRE', name, ARGV[ARG.lifeMs]) end
  end
end
call('RESTORE', key, ARGV[ARG.lifeMs], ARGV[ARG.dump], 'REPLACE')
