--[[
  reserve: reserve lanes that are due, or say how long to wait.
  ARGV[4] limit          most lanes wanted (≤ 200)
  ARGV[5] aheadMs        lanes that open this soon are reserved too; begin keeps them waiting until they are open
  ARGV[6] reserveMs      a reservation that nobody begins ends after this
  ARGV[7] inFlightLimit  most lanes reserved or in flight: keeps the orders queue shallow
  ARGV[8] outcomesLimit  unread outcomes beyond which nothing is granted
  ARGV[9] peek           URLs shown per lane (≤ 100)
  ARGV[10] lane          this one alone, due or not, shut or not (an operator's hand on its backlog); '' for what is due
  ARGV[11] list          with a lane: its list h or q, whichever else would come first
  A call gathers URLs up to MOST_BYTES, and one lane at least: what is left over is due as before, and `more` says so.
  Returns {epoch, now, 'taken', more, then per lane: lane, facts, state, n × url} or {epoch, now, why, waitMs or ''}
    facts  fence|notBefore|tries|list|version|n|delay known of the lane in ms or '', and only when one of them is not '':
           |heldBy|closedUntil|questionFence|questionUntil|refetch|blocked ('.' and the reason)
  Keeps   a lane is in due or in inflight, never in both. An emptied lane stays in due as its cool-down and is dropped here.
]]
local MOST_BYTES = 1048576 -- 200 lanes that show 50 URLs of 4 KB each would be 40 MB, and no answer within any deadline
if holdUntil > now then return { epochId, ms(now), 'startup-hold', ms(holdUntil - now) } end
if call('XLEN', P .. 'outcomes') >= tonumber(ARGV[8]) then return { epochId, ms(now), 'outcomes-full', '' } end
local room = tonumber(ARGV[7]) - call('ZCARD', INFLIGHT)
local limit = math.min(tonumber(ARGV[4]), room, 200)
if limit <= 0 then return { epochId, ms(now), 'slots-full', '' } end
local named = ARGV[10] ~= ''
local lanes, opening = {}, {} -- opening: place in lanes → instant it opens, of those that are not open yet
if named then
  local opens = call('ZSCORE', DUE, ARGV[10])
  if opens then lanes[1], opening[1] = ARGV[10], math.max(tonumber(opens), now) end
else
  -- Since when a lane has been open is nobody's business any more, and reading a score costs as much as reading a lane.
  lanes = call('ZRANGE', DUE, '-inf', ms(now), 'BYSCORE', 'LIMIT', 0, limit)
  local ahead = limit > #lanes and tonumber(ARGV[5]) > 0
    and call('ZRANGE', DUE, '(' .. ms(now), ms(now + tonumber(ARGV[5])), 'BYSCORE', 'LIMIT', 0, limit - #lanes, 'WITHSCORES') or {}
  for i = 1, #ahead, 2 do
    lanes[#lanes + 1] = ahead[i]
    opening[#lanes] = tonumber(ahead[i + 1])
  end
end
local function nothingDue()
  local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]
  return { epochId, ms(now), 'nothing-due', first and ms(math.max(0, tonumber(first) - now)) or '' }
end
if #lanes == 0 then return nothingDue() end

local out = { epochId, ms(now), 'taken', (#lanes == limit) and '1' or '0' }
local fence = math.max(tonumber(call('HGET', KEYS[1], 'fence') or '0'), math.floor(now * 1000))
local gone, taken, bytes = {}, {}, 0
local ends = ms(now + tonumber(ARGV[6]))
local last = tonumber(ARGV[9]) - 1
local function urlsOf(list, lane)
  if list == 'h' then return call('LRANGE', P .. 'h:' .. lane, 0, last) end
  local head, more = headOf(lane)
  if not (more and last > 0) then return { head } end
  local urls = call('LRANGE', P .. 'q:' .. lane, 0, last - 1)
  table.insert(urls, 1, head)
  return urls
end

readLanes(lanes)
local nowText = ms(now)
for i = 1, #lanes do
  if bytes > MOST_BYTES then out[4] = '1' break end
  local lane, opens = lanes[i], opening[i]
  local opensText = opens and ms(opens) or nowText
  if not opens then opens = now end
  local tries, list, clock, why, high = '', 'q', '', '', ''
  if memRead[lane] then tries, list, clock, why, high = memOf(lane) end
  local heads
  if ARGV[11] ~= '' then
    if list ~= ARGV[11] then tries = '' end -- it is the other list's head that has been tried
    list = ARGV[11]; heads = urlsOf(list, lane)
  elseif tries ~= '' then heads = urlsOf(list, lane)
  else
    list = 'h'
    heads = high ~= '' and urlsOf('h', lane) or {}
    if #heads == 0 then
      if high ~= '' then high = ''; setMem(lane, '', '', clock, why, '') end
      list = 'q'; heads = urlsOf('q', lane)
    end
  end
  local n = #heads
  if n == 0 then
    if opens <= now then gone[#gone + 1] = lane; forgetMem(lane) end
  else
    local key = P .. 'o:' .. originOf(lane)
    local known = 'g:' .. string.sub(lane, 1, string.find(lane, ' ', 1, true) - 1)
    local o = call('HMGET', key, 's', 'v', 'p', known)
    known = o[4] or ''
    if o[3] then o[3], o[4] = false, false -- every gate stands open: a look at each cost three times as much
    else
      o = call('HMGET', key, 's', 'v', 'q', 'u', 'bu', 'pu', 'ku', 'kr', 'rf', 'nf', 'og', 'se', 'oe')
      o[1] = stateOf(o[1], o[12])
      if o[13] and tonumber(o[13]) > now and tonumber(o[11]) > (tonumber(known) or 0) then known = o[11] end
    end
    local blocked = o[7] and tonumber(o[7]) > now
    local shut, paused = 0, false
    if o[5] or o[6] then
      local back, pause = tonumber(o[5] or '0'), tonumber(o[6] or '0')
      shut, paused = math.max(back, pause), pause >= back
    end
    local expires = shut > now and tonumber(string.match(heads[1], '^%S+ (%w+)') or '0', 36) * 1000 + shift
    if shut > opens and shut > now and expires > now and not blocked and not named then
      giveBack(lane, clock ~= '' and tonumber(clock) or opens, math.min(shut, expires), paused and 'paused' or 'back-off')
    else
      if clock ~= '' and not named then setMem(lane, tries, tries ~= '' and list or '', '', why, high) end
      fence = fence + 1
      local f = string.format('%d', fence)
      gone[#gone + 1] = lane
      taken[#taken + 1] = ends; taken[#taken + 1] = lane
      local isPlain = not (o[3] or o[5] or o[6] or o[7] or o[10] or o[11])
      setLease(lane, f, list, opens, '', '', '', '', '', isPlain and (o[2] or '0') or '', '')
      local refetch = (o[9] and o[9] == (o[2] or '0')) and '1' or ''
      local facts = f .. '|' .. opensText .. '|' .. (tries == '' and '0' or tries) .. '|' .. list .. '|' .. (o[2] or '0') .. (n == 1 and '|1|' or '|' .. n .. '|') .. known
      if why ~= '' or shut > now or o[3] or refetch ~= '' or blocked then
        facts = facts .. '|' .. why .. '|' .. (shut > now and ms(shut) or '') .. '|' .. (o[3] or '') .. '|' .. (o[4] or '') .. '|' .. refetch
          .. '|' .. (blocked and '.' .. (o[8] or '') or '')
      end
      local at = #out
      out[at + 1] = lane; out[at + 2] = facts; out[at + 3] = o[1] or ''
      for h = 1, n do
        out[at + 3 + h] = heads[h]
        bytes = bytes + #heads[h]
      end
    end
  end
end
if #gone > 0 then call('ZREM', DUE, unpack(gone)) end
if #taken > 0 then
  call('ZADD', INFLIGHT, unpack(taken))
  call('HSET', KEYS[1], 'fence', string.format('%.0f', fence))
end
flush()
if #taken == 0 then return nothingDue() end -- emptied and shut lanes only: coming again at once would find them again
return out
