/**
 * The scripts of an upgrade. Each is one bounded step on one partition, and each can be done again: `Change.write` runs them, so a run
 * that was overtaken writes nothing. While `layout` is `2>3`, processes of either version are refused, so nothing else writes here.
 */
import { EPOCH, KEY } from '../layout.ts'

/** Items of one step: Redis is busy for well under a millisecond. */
export const STEP = 200

/** Behind the tag: leases as they will be stored. */
export const NEXT_LEASES = 'leases>next'

const LAYOUT = `local layout = redis.call('HGET', KEYS[1], '${EPOCH.layout}')
local tag = string.sub(KEYS[1], 1, -1 - #'${KEY.epoch}')
`

/** ARGV: from, to. Closes the partition to both versions. Returns where it stands: 'under way', 'done', 'unused', or another layout. */
export const BEGIN = `${LAYOUT}local from, to = ARGV[2], ARGV[3]
if layout == to then return 'done' end
if not layout and redis.call('HEXISTS', KEYS[1], '${EPOCH.run}') == 0 then return 'unused' end
if layout ~= from and layout ~= from .. '>' .. to then return layout or '1' end
redis.call('HSET', KEYS[1], '${EPOCH.layout}', from .. '>' .. to)
return 'under way'`

/** ARGV: n, n earlier names and n names of now, then origins. The earlier fields stay until the upgrade is over. */
export const COPY_ORIGINS = `${LAYOUT}local n = tonumber(ARGV[2])
local earlier, names = { unpack(ARGV, 3, 2 + n) }, { unpack(ARGV, 3 + n, 2 + 2 * n) }
for i = 3 + 2 * n, #ARGV do
  local key = tag .. '${KEY.origin}' .. ARGV[i]
  local found, writes = redis.call('HMGET', key, unpack(earlier)), {}
  redis.call('HDEL', key, unpack(names))
  for k = 1, n do
    if found[k] then writes[#writes + 1] = names[k]; writes[#writes + 1] = found[k] end
  end
  if #writes > 0 then redis.call('HSET', key, unpack(writes)) end
end`

/** ARGV: names of fields, '', then origins: drops these fields. */
export const DROP_FIELDS = `${LAYOUT}local fields, first = {}, 2
while ARGV[first] ~= '' do fields[#fields + 1] = ARGV[first]; first = first + 1 end
for i = first + 1, #ARGV do redis.call('HDEL', tag .. '${KEY.origin}' .. ARGV[i], unpack(fields)) end`

/** ARGV: lanes. \`lease\` is that of the migration. */
export const copyLeases = (lease: string): string => `${LAYOUT}local function convert(record) ${lease} end
local found = redis.call('HMGET', tag .. '${KEY.leases}', unpack(ARGV, 2))
for i = 1, #found do
  if found[i] then redis.call('HSET', tag .. '${NEXT_LEASES}', ARGV[i + 1], convert(found[i])) end
end`

/** ARGV: a gate's name, the name it gets, then lanes. A lane's record is \`|attempts|list|ownDue|heldBy|hasHigh|\` and its first URL. */
export const RENAME_GATE = `${LAYOUT}for i = 4, #ARGV do
  local record = redis.call('HGET', tag .. '${KEY.lanes}', ARGV[i])
  local before, gate, behind = string.match(record or '', '^(|[^|]*|[^|]*|[^|]*|)([^|]*)(|.*)$')
  if gate == ARGV[2] then redis.call('HSET', tag .. '${KEY.lanes}', ARGV[i], before .. ARGV[3] .. behind) end
end`

/** ARGV: from, to, then pairs of keys, '', then pairs of counts. From here on the partition has its new layout; it is written down. */
export const SWITCH = `${LAYOUT}local from, to = ARGV[2], ARGV[3]
if layout == to then return end
if layout ~= from .. '>' .. to then return redis.error_reply('OVERTAKEN change') end
local i = 4
while ARGV[i] ~= '' do
  if redis.call('EXISTS', tag .. ARGV[i]) == 1 then redis.call('RENAME', tag .. ARGV[i], tag .. ARGV[i + 1]) end
  i = i + 2
end
redis.call('UNLINK', tag .. '${KEY.leases}')
if redis.call('EXISTS', tag .. '${NEXT_LEASES}') == 1 then redis.call('RENAME', tag .. '${NEXT_LEASES}', tag .. '${KEY.leases}') end
for k = i + 1, #ARGV, 2 do
  local count = redis.call('HGET', tag .. '${KEY.counts}', ARGV[k])
  if count then
    redis.call('HINCRBY', tag .. '${KEY.counts}', ARGV[k + 1], count)
    redis.call('HDEL', tag .. '${KEY.counts}', ARGV[k])
  end
end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], '${EPOCH.layout}', to, '${EPOCH.upgraded}', from .. '>' .. to .. ' ' .. string.format('%.0f', t[1] * 1000 + t[2] / 1000),
  '${EPOCH.leftovers}', from)`

/** ARGV: from, to. The earlier version may go on; what was copied is dropped before. */
export const STEP_BACK = `${LAYOUT}if layout ~= ARGV[2] .. '>' .. ARGV[3] then return redis.error_reply('OVERTAKEN change') end
redis.call('UNLINK', tag .. '${NEXT_LEASES}')
redis.call('HSET', KEYS[1], '${EPOCH.layout}', ARGV[2])`

export const FORGET_LEFTOVERS = `redis.call('HDEL', KEYS[1], '${EPOCH.leftovers}')`

/** ARGV: from, to, then keys. */
export const DROP_WHILE_CLOSED = `${LAYOUT}if layout == ARGV[2] .. '>' .. ARGV[3] then redis.call('UNLINK', unpack(ARGV, 4)) end`
