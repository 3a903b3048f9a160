--- @include "lib/epoch"
--[[
  stops: the emergency stops that are in force. A stop is a pause that covers more than one origin: it holds for
  everything, or for a host name or an address, with every name below it. Only lib/gates.lua calls `stoppedUntil`.

  {tag}:epoch  the field EPOCH.stops: version of the stops, when the stop of everything ends, and number of stopped
               names
  {tag}:stops  hash  name → when its stop ends; and the field STOPS.record: all stops as JSON (stops/record.ts)
  The end of a stop is an instant on the ledger's clock, or STOPS.never.
]]
local function endOf(text) return text == STOPS.never and STOPS.forever or tonumber(text) or 0 end

-- The names by which an origin may be stopped: its host, and every name above the host.
local function namesOf(origin)
  local host = not string.find(origin, '^list://') and hostOf(origin) -- 'list://' begins the name of a pace group
  if not host then return {} end
  local names = { host }
  for at in string.gmatch(host, '()%.') do names[#names + 1] = string.sub(host, at + 1) end
  return names
end

local stopped = {} -- origin → the result of stoppedUntil
-- When the last emergency stop that covers an origin ends; 0 if none covers the origin.
local function stoppedUntil(origin)
  local till = stopped[origin]
  if till then return till end
  till = endOf(string.match(stopsText, '^%d+ (%S+)'))
  local names = string.match(stopsText, '%d+$') ~= '0' and namesOf(origin) or {}
  if #names > 0 then
    local found = call('HMGET', TAG .. KEY.stops, unpack(names))
    for i = 1, --[[rule:a-stop-covers-the-names-below]] #names --[[end]] do
      if found[i] then till = math.max(till, endOf(found[i])) end
    end
  end
  stopped[origin] = till
  return till
end
