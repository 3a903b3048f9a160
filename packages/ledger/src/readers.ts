/**
 * Who reads the outcomes of a crawl: each consumer group, what it has not acknowledged and for how long, and its consumers. And how a
 * group is forgotten, because what any group has not acknowledged stays stored, and at OUTCOMES_LIMIT that stops the crawl.
 */
import { outcomesKey } from '@decorum/protocol'
import { keysOf, OPERATION } from './layout.ts'
import type { RedisLink } from './link.ts'
import { ALLOWED_WHEN_FULL } from './lua-library.ts'
import { thatAnswer } from './that-answer.ts'

export type Reader = {
  crawl: string
  group: string
  /** outcomes that it has not been handed */
  lag: number
  /** true: there are more, but Redis does not know how many */
  lagIsLeast: boolean
  /** handed out and not acknowledged */
  pending: number
  /** the oldest that it has not acknowledged: its entry in the stream, the candidate's id where it can be read */
  oldest?: { entry: string; id?: string; ageMs: number }
  /** how long none of its consumers has given a sign of life; absent: it has no consumer */
  idleMs?: number
  /** those that hold most, first; at most CONSUMERS_SHOWN */
  consumers: Consumer[]
  consumerCount: number
}
export type Consumer = { name: string; idleMs: number; pending: number }

/** Groups and consumers that are listed of one crawl: those with most to read. */
export const READERS_SHOWN = 100
const CONSUMERS_SHOWN = 20
/** Entries that are counted where Redis does not know how many a group has not been handed. */
const COUNTED = 200
/** A reader that gives no sign of life for so long counts as dead: others take over what it holds. */
export const READER_DEAD_AFTER_MS = 60_000

/** A group of a stream as a table, and what it has not acknowledged: the oldest entry, '' when there is none, and how many. */
const ABOUT_GROUP = `local function named(row)
  local one = {}
  for i = 1, #row, 2 do one[row[i]] = row[i + 1] end
  return one
end
local function groupsOf(stream)
  return redis.call('EXISTS', stream) == 1 and redis.call('XINFO', 'GROUPS', stream) or {}
end
local function unread(stream, group)
  local after = '(' .. group['last-delivered-id']
  local lag, least = group.lag, 0
  if not lag then
    lag = #redis.call('XRANGE', stream, after, '+', 'COUNT', ${COUNTED + 1})
    if lag > ${COUNTED} then lag, least = ${COUNTED}, 1 end
  end
  local oldest = group.pending > 0 and redis.call('XPENDING', stream, group.name)[2]
  if not oldest and lag > 0 then
    local first = redis.call('XRANGE', stream, after, '+', 'COUNT', 1)[1]
    oldest = first and first[1]
  end
  return oldest or '', lag, least
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function ageOf(entry) return math.max(0, now - tonumber(string.match(entry, '^%d+'))) end`

/** Returns a JSON array of the groups of one stream, without those that hold least when there are many. */
const READ = `${ABOUT_GROUP}
local stream, groups = KEYS[1], {}
for _, row in ipairs(groupsOf(stream)) do
  local group = named(row)
  local oldest, lag, least = unread(stream, group)
  groups[#groups + 1] = { group = group.name, oldest = oldest, lag = lag, least = least, pending = group.pending, consumers = {} }
end
table.sort(groups, function(a, b) return a.lag + a.pending > b.lag + b.pending end)
for i = #groups, ${READERS_SHOWN} + 1, -1 do groups[i] = nil end
for _, one in ipairs(groups) do
  for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', stream, one.group)) do
    local consumer = named(row)
    table.insert(one.consumers, { name = consumer.name, idleMs = consumer.idle, pending = consumer.pending })
  end
  if one.oldest ~= '' then
    one.ageMs = ageOf(one.oldest)
    local entry = redis.call('XRANGE', stream, one.oldest, one.oldest, 'COUNT', 1)[1]
    local ok, outcome = pcall(cjson.decode, entry and entry[2] and entry[2][2] or '')
    if ok and type(outcome) == 'table' and type(outcome.id) == 'string' then one.id = outcome.id end
  end
end
return cjson.encode(groups)`

type GroupFacts = {
  group: string
  oldest: string
  ageMs?: number
  id?: string
  lag: number
  least: 0 | 1
  pending: number
  /** Lua has one empty table for both */
  consumers: Consumer[] | Record<string, never>
}

/**
 * The groups that read a crawl, those with most to read first, as the partitions that answer have them.
 * @param tags  retired ones too: outcomes lie in their streams
 */
export async function readersOf(redis: RedisLink, tags: readonly string[], crawl: string): Promise<Reader[]> {
  const answers = await thatAnswer(
    tags.map(async (tag) => JSON.parse((await redis.eval(READ, 1, outcomesKey(tag, crawl))) as string) as GroupFacts[]),
  )
  const byGroup = Map.groupBy(
    answers.flatMap((groups) => (Array.isArray(groups) ? groups : [])),
    ({ group }) => group,
  )
  return [...byGroup]
    .map(([group, groups]) => readerOf(crawl, group, groups))
    .sort((a, b) => b.lag + b.pending - (a.lag + a.pending) || (a.group < b.group ? -1 : 1))
    .slice(0, READERS_SHOWN)
}

function readerOf(crawl: string, group: string, groups: GroupFacts[]): Reader {
  const consumers = consumersOf(groups)
  const [oldest] = groups.filter((one) => one.oldest !== '').sort((a, b) => (b.ageMs ?? 0) - (a.ageMs ?? 0))
  return {
    crawl,
    group,
    lag: groups.reduce((sum, one) => sum + one.lag, 0),
    lagIsLeast: groups.some((one) => one.least === 1),
    pending: groups.reduce((sum, one) => sum + one.pending, 0),
    ...(oldest === undefined
      ? {}
      : {
          oldest: {
            entry: oldest.oldest,
            ...(oldest.id === undefined ? {} : { id: oldest.id }),
            ageMs: oldest.ageMs ?? 0,
          },
        }),
    ...(consumers.length === 0 ? {} : { idleMs: Math.min(...consumers.map(({ idleMs }) => idleMs)) }),
    consumers: consumers.slice(0, CONSUMERS_SHOWN),
    consumerCount: consumers.length,
  }
}

/** Of all partitions, one for each name. */
function consumersOf(groups: GroupFacts[]): Consumer[] {
  const all = groups.flatMap(({ consumers }) => (Array.isArray(consumers) ? consumers : []))
  const byName = Map.groupBy(all, ({ name }) => name)
  return [...byName]
    .map(([name, some]) => ({
      name,
      idleMs: Math.min(...some.map(({ idleMs }) => idleMs)),
      pending: some.reduce((sum, { pending }) => sum + pending, 0),
    }))
    .sort((a, b) => b.pending - a.pending || a.idleMs - b.idleMs)
}

export type Forgetting = {
  crawl: string
  group: string
  by: string
  reason: string
  /** a group of which a consumer has given a sign of life within so long stays */
  silentForMs: number
  /** a group stays that has acknowledged everything older than so long; absent: whatever it has acknowledged */
  unreadForMs?: number
}
/** `unread`: how many outcomes it had not acknowledged */
export type Forgotten = { kind: 'forgotten'; unread: number } | { kind: 'absent' } | { kind: 'still-read' }

/** Removes the group and writes it down in one step. Whether it is still read is judged in the same step. */
const FORGET = `${ALLOWED_WHEN_FULL}
${ABOUT_GROUP}
local stream, operations = KEYS[1], KEYS[2]
local name, silentForMs, unreadForMs, isFirst = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
for _, row in ipairs(groupsOf(stream)) do
  local group = named(row)
  if group.name == name then
    for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', stream, name)) do
      if named(one).idle < silentForMs then return { 'still-read', 0 } end
    end
    local oldest, lag = unread(stream, group)
    if unreadForMs and (oldest == '' or ageOf(oldest) < unreadForMs) then return { 'still-read', 0 } end
    redis.call('XGROUP', 'DESTROY', stream, name)
    if isFirst or lag + group.pending > 0 then
      redis.call('XADD', operations, 'MAXLEN', '~', 10000, '*', '${OPERATION.at}', string.format('%d', now), '${OPERATION.by}', ARGV[5],
        '${OPERATION.action}', 'forget-reader', '${OPERATION.origin}', '', '${OPERATION.value}', lag + group.pending,
        '${OPERATION.till}', 0, '${OPERATION.reason}', ARGV[6], '${OPERATION.crawl}', ARGV[7], '${OPERATION.group}', name)
    end
    return { 'forgotten', lag + group.pending }
  end
end
return { 'absent', 0 }`

const MAX_TEXT = 512

/**
 * Forgets a group in every partition. Who did it and why is written down where it had something to read, and at least once.
 * @throws what Redis throws where a partition does not answer: the others have forgotten it, and asking again is safe
 */
export async function forgetReader(
  redis: RedisLink,
  tags: readonly string[],
  { crawl, group, by, reason, silentForMs, unreadForMs }: Forgetting,
): Promise<Forgotten> {
  const texts = [by.slice(0, MAX_TEXT), reason.slice(0, MAX_TEXT), crawl]
  let answer: Forgotten = { kind: 'absent' }
  for (const tag of tags) {
    const isFirst = answer.kind !== 'forgotten'
    const keys = [outcomesKey(tag, crawl), keysOf(tag).operations]
    const groups = await redis.eval(
      FORGET,
      2,
      ...keys,
      group,
      silentForMs,
      unreadForMs ?? '',
      isFirst ? '1' : '0',
      ...texts,
    )
    const [kind, unread] = groups as [Forgotten['kind'], number]
    if (kind === 'forgotten') answer = { kind, unread: unread + (answer.kind === 'forgotten' ? answer.unread : 0) }
    else if (kind === 'still-read' && answer.kind === 'absent') answer = { kind }
  }
  return answer
}

/**
 * The group that a crawl waits for: the one with most to read, when some partition holds so many outcomes that dispatch has paused.
 * @param unread  outcomes stored in each partition
 */
export function readerInTheWay(
  readers: readonly Reader[],
  unread: readonly number[],
  outcomesLimit: number,
): Reader | undefined {
  if (unread.every((count) => count < outcomesLimit)) return undefined
  const [first] = readers
  return first !== undefined && first.lag + first.pending > 0 ? first : undefined
}

/** Whether a reader is active under this name at present. */
export const isRead = ({ idleMs }: Reader): boolean => idleMs !== undefined && idleMs < READER_DEAD_AFTER_MS
