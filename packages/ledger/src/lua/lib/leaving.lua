--- @include "lib/lane"
--[[
  leaving: outcomes into their stream, and the URLs that they end out of their lane.
  An item of ARGV is LEAVING in calls.ts: the outcome as JSON, its kind, and its id as 'bucket:number', '' when it is not stored.
]]
local function writeOutcome(json, kind)
  call('XADD', OUTCOMES, '*', 'o', json)
  countOutcome(kind)
end

-- Items of ARGV from one place to another, both counted. Returns how many URLs of the lane they end.
local function leave(first, last)
  local heads = 0
  for k = first, last, LEAVING.size do
    local json, kind, id = ARGV[k + LEAVING.json], ARGV[k + LEAVING.kind], ARGV[k + LEAVING.id]
    if kind == KIND.candidate then call('XADD', TAG .. KEY.outbox, '*', 'c', json)
    else
      heads = heads + 1
      writeOutcome(json, kind)
      if id ~= '' then
        local colon = string.find(id, ':', 1, true)
        --[[rule:an-id-is-free-after-its-outcome]] call('SREM', TAG .. KEY.ids .. string.sub(id, 1, colon - 1), string.sub(id, colon + 1)) --[[end]]
      end
    end
  end
  return heads
end

local left = 0 -- URLs that leave their lanes by this call

-- The first n URLs leave a list, and with them the attempts that were made for its head.
local function dropFirst(lane, list, n)
  if --[[rule:the-head-leaves-its-own-list]] list == LIST.high --[[end]] then call('LPOP', highList(lane), n)
  else
    local _, more = firstOf(lane)
    local rest = more and call('LPOP', normalList(lane), n)
    --[[rule:the-next-url-moves-up]] setFirst(lane, rest and rest[n], true) --[[end]]
  end
  if memories[lane] and memories[lane][MEMORY.list] == list then
    local memory = changeMemory(lane)
    memory[MEMORY.attempts], memory[MEMORY.list] = '', ''
  end
  left = left + n
end
flushes[#flushes + 1] = function() count('left', left) end
