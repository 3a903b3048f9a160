--- @include "lib/epoch"
--[[
  stops: the emergency stops that are in force. A stop is a pause that does not belong to one origin: it holds for everything, or for a
  host name or an address, with every name below it. Every script that lets a request start or go on asks here, whatever the gates of
  the origin say.

  {tag}:epoch  the field EPOCH.stops: version of the stops, when that of everything ends, and how many names are stopped
  {tag}:stops  hash  name → when its stop ends; and STOPS.record, all of them as JSON (stops/record.ts)
  An instant is one of the ledger, or STOPS.never.
]]
local LOOK_AGAIN_MS = 30000 -- lanes that are stopped are looked at so often, so that they go on within it once a stop is lifted

local function endOf(text) return text == STOPS.never and math.huge or tonumber(text) or 0 end
local function nextLook(till) return till > now and math.min(till, now + LOOK_AGAIN_MS) or 0 end

-- 0 while not everything is stopped; else when to look again.
local function everythingStopped()
  return stopsText and nextLook(endOf(string.match(stopsText, '^%d+ (%S+)'))) or 0
end

-- Under which names an origin is stopped: its host, and every name that the host is below.
local function namesOf(origin)
  local scheme, host = string.match(origin, '^(%w+)://(%[[^%]]*%])')
  if not host then scheme, host = string.match(origin, '^(%w+)://([^:]*)') end
  if not host or scheme == 'list' then return {} end -- the name of a list is no host
  local names = { host }
  for at in string.gmatch(host, '()%.') do names[#names + 1] = string.sub(host, at + 1) end
  return names
end

local stopped = {} -- origin → what stoppedUntil has found
-- 0 for an origin that is not stopped; else when to look again.
local function stoppedUntil(origin)
  if not stopsText then return 0 end
  if stopped[origin] then return stopped[origin] end
  local till = everythingStopped()
  local names = till == 0 and string.match(stopsText, '%d+$') ~= '0' and namesOf(origin) or {}
  if #names > 0 then
    local found = call('HMGET', TAG .. KEY.stops, unpack(names))
    for i = 1, --[[rule:a-stop-covers-the-names-below]] #names --[[end]] do
      if found[i] then till = math.max(till, nextLook(endOf(found[i]))) end
    end
  end
  stopped[origin] = till
  return till
end
