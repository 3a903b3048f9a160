/**
 * The real side: one partition of its own on a shared Redis, driven by the ledger's own verbs, with a clock that the run moves.
 * Two processes call: `steady` runs all along, `other` forgets what it knows when it restarts.
 */

import {
  COMPLETION,
  EPOCH,
  idSlot,
  type Keys,
  keysOf,
  LEAVING,
  LIST,
  listsOf,
  OVER,
  type Scripts,
  scriptsOf,
  verbSettings,
} from '@decorum/ledger/testing'
import { outcomesKey, systemClock } from '@decorum/protocol'
import type { Redis } from 'ioredis'
import { behind } from '../../support/lane-urls.ts'
import { CRAWLS, type Manner, OUTCOMES_OF_CRAWLS, SETTINGS } from './rules.ts'
import { type AllVerbs, allVerbsOf } from './scripts.ts'

/** Under which the worker of these runs holds the lock of its job. */
export const JOB_TOKEN = 'holder'

export type Process = {
  verbs: AllVerbs
  /** the time of the ledger that it can vouch for, undefined while it has only just started */
  most(): number | undefined
  /** the share of the time on Redis's clock that has not passed, as it claims */
  excess(): number
}
export type World = {
  tag: string
  /** what Redis shows, and what a clock that never leaps would: the sites' */
  clock: { now: number; steady: number }
  /** what the process claims that has been there all along; the other one measures nothing */
  excess: number
  steady: Process
  other: Process
  /** the second process starts anew; or both do */
  restartOther(): void
  restartBoth(): void
  /** how much the latest settlements were told to lengthen a back-off, [0, 1), in order */
  jitters: number[]
  /** Redis writes down what it has */
  snapshot(): Promise<void>
  /** Redis is killed; it comes back with what it wrote down last (`lost`), or with all it had */
  crash(lost: boolean): Promise<void>
  /** Redis comes back without data */
  forgetAll(): Promise<void>
  announce(): Promise<void>
  /** a BullMQ job that is there, or that is finished; its lock is ours, or another worker's */
  job(id: string, there: boolean, locked: boolean): Promise<void>
  /** readers take all outcomes and the outbox away */
  drain(): Promise<void>
  /** all that is stored, as lists of texts */
  inspect(lanes: string[], ids: string[], crawls: readonly string[]): Promise<Inspection>
  dispose(): Promise<void>
}
export type Inspection = {
  due: [string, number][]
  inFlight: [string, number][]
  slotless: string[]
  lists: Record<string, string[]>
  ids: string[]
  outcomes: string[]
  outbox: string[]
  later: [string, number][]
  /** of other crawls than the default one: outcomes by crawl, turns by lane, of stored URLs and of permits */
  others: Record<string, string[]>
  turns: Record<string, [string, number][]>
  permitTurns: Record<string, [string, number][]>
}

/** Before that a process vouches for nothing (redis-clock.ts). */
const KNOWN_MS = 5_000

/** Teaches a connection what a world needs beside the verbs. */
export function defineWorldCommands(redis: Redis): void {
  const copy = `
    local from, to = ARGV[1], ARGV[2]
    for _, key in ipairs(redis.call('KEYS', (to:gsub('[{}]', '\\\\%0')) .. '*')) do redis.call('DEL', key) end
    if from == '' then return end
    for _, key in ipairs(redis.call('KEYS', (from:gsub('[{}]', '\\\\%0')) .. '*')) do redis.call('COPY', key, to .. key:sub(#from + 1)) end`
  redis.defineCommand('world_copy', { numberOfKeys: 0, lua: copy })
}
type Copy = { world_copy(from: string, to: string): Promise<null> }

export function openWorld(redis: Redis, name: string, startAt: number, { crawls, aheadMs }: Manner): World {
  const tag = `{${name}}`
  const keys = keysOf(tag)
  const copies = redis as unknown as Copy
  const clock = { now: startAt, steady: startAt }
  const jitters: number[] = []
  // The same ones in every run, so that a run can be played again: steps of 379 reach every thousandth.
  let last = 0
  const jitter = () => {
    last = (last + 379) % 1_000
    return last / 1_000
  }
  const process = (excess: () => number): Process => {
    let seen: { ledger: number; at: number } | undefined
    const startedAt = clock.steady
    const isNew = clock.steady > startAt // the first two have been there all along
    const most = (): number | undefined =>
      seen === undefined || (isNew && clock.steady < startedAt + KNOWN_MS)
        ? undefined
        : Number((seen.ledger + clock.steady - seen.at).toFixed(3))
    const real = scriptsOf(redis, keys, {
      holdMs: SETTINGS.leaseMs + SETTINGS.quarantineMs,
      longestLeaseMs: SETTINGS.leaseMs,
      callDeadlineMs: 60_000,
      nowMs: () => clock.now,
      mostMs: most,
      excess,
    })
    const scripts: Scripts = {
      ...real,
      async call(verb, args, items) {
        if (verb === 'complete') noteJitters(items ?? [], jitters)
        if (verb === 'record') noteJitter((args as { load: string }).load, jitters)
        const answer = await real.call(verb, args, items)
        seen = { ledger: answer.now, at: clock.steady }
        return answer
      },
    }
    return {
      verbs: allVerbsOf(
        scripts,
        verbSettings({
          ...SETTINGS,
          grantAheadMs: aheadMs,
          ...(crawls ? { outcomesLimit: OUTCOMES_OF_CRAWLS } : {}),
          clock: { ...systemClock, random: jitter },
        }),
      ),
      most,
      excess,
    }
  }
  const steady = (): Process => process(() => world.excess)
  const other = (): Process => process(() => 0)
  const world: World = {
    tag,
    clock,
    excess: 0,
    steady: steady(),
    other: other(),
    restartOther() {
      world.other = other()
    },
    restartBoth() {
      world.steady = steady()
      world.other = other()
    },
    jitters,
    snapshot: async () => void (await copies.world_copy(`${tag}:`, `snapshot-${tag}:`)),
    async crash(lost) {
      if (lost) await copies.world_copy(`snapshot-${tag}:`, `${tag}:`)
      if ((await redis.exists(keys.epoch)) === 1) await redis.hset(keys.epoch, EPOCH.run, 'the one before')
    },
    forgetAll: async () => void (await copies.world_copy('', `${tag}:`)),
    announce: async () => void (await redis.hset(keys.epoch, EPOCH.restartAnnounced, '1')),
    job: async (id, there, locked) => {
      const key = `${tag}:candidates:${id}`
      if (there)
        await redis
          .multi()
          .hset(key, 'data', '{}')
          .set(`${key}:lock`, locked ? JOB_TOKEN : 'another')
          .exec()
      else await redis.del(key, `${key}:lock`)
    },
    drain: async () =>
      void (await redis.del(keys.outcomes, keys.outbox, ...CRAWLS.slice(1).map((crawl) => outcomesKey(tag, crawl)))),
    inspect: (lanes, ids, crawls) => inspect(redis, keys, lanes, ids, crawls),
    async dispose() {
      await copies.world_copy('', `${tag}:`)
      await copies.world_copy('', `snapshot-${tag}:`)
    },
  }
  return world
}

/** Of the load of a robots answer. */
function noteJitter(load: string, into: number[]): void {
  into.splice(0, into.length, Number(load.split(' ')[1] ?? 0))
}

/** Finds the jitters among the completions of a call; those of the short forms have neither jitter nor further items. */
function noteJitters(items: (string | number | Buffer)[], into: number[]): void {
  into.length = 0
  const { ending, load, leaving, size } = COMPLETION.at
  for (let at = 0; at < items.length; at += size) {
    if (items[at + ending] === 'done') {
      into.push(0)
      continue
    }
    if (items[at + ending] === 'over') {
      into.push(0)
      at += OVER.at.size - size
      continue
    }
    into.push(Number(String(items[at + load]).split(' ')[1] ?? 0))
    at += Number(items[at + leaving]) * LEAVING.at.size
  }
}

async function inspect(
  redis: Redis,
  keys: Keys,
  lanes: string[],
  ids: string[],
  crawls: readonly string[],
): Promise<Inspection> {
  const of = await inspectCrawls(redis, keys, lanes, ids, crawls.slice(1))
  const pipeline = redis.pipeline()
  for (const set of [keys.due, keys.inFlight]) pipeline.zrange(set, '0', '-1', 'WITHSCORES')
  pipeline.smembers(keys.slotless)
  for (const stream of [keys.outcomes, keys.outbox]) pipeline.xrange(stream, '-', '+')
  for (const lane of lanes) for (const list of [LIST.high, LIST.normal]) pipeline.lrange(keys.list(list, lane), 0, -1)
  pipeline.hmget(keys.lanes, ...lanes)
  for (const id of ids) {
    const { bucket, number } = idSlot(id)
    pipeline.sismember(keys.ids(bucket), number)
  }
  pipeline.zrange(keys.later, '0', '-1', 'WITHSCORES')
  const answers = ((await pipeline.exec()) ?? []).map(([error, value]) => {
    if (error) throw error
    return value
  })
  const scores = (flat: unknown): [string, number][] => {
    const texts = flat as string[]
    return texts.flatMap((text, i) => (i % 2 === 0 ? [[text, Number(texts[i + 1])] as [string, number]] : []))
  }
  const fields = (rows: unknown): string[] => (rows as [string, string[]][]).map(([, pair]) => pair[1] ?? '')
  const lists: Record<string, string[]> = {}
  const records = answers[5 + lanes.length * 2] as (string | null)[]
  for (const [index, lane] of lanes.entries()) {
    lists[`h ${lane}`] = answers[5 + index * 2] as string[]
    lists[`q ${lane}`] = behind(records[index] ?? '', answers[6 + index * 2] as string[])
  }
  const firstId = 6 + lanes.length * 2
  return {
    due: scores(answers[0]),
    inFlight: scores(answers[1]),
    slotless: answers[2] as string[],
    lists: { ...lists, ...of.lists },
    others: of.others,
    turns: of.turns,
    permitTurns: of.permitTurns,
    ids: [...ids.filter((_, index) => answers[firstId + index] === 1), ...of.ids],
    outcomes: fields(answers[3]).map((json) => {
      const { id, kind } = JSON.parse(json) as { id: string; kind: string }
      return `${id} ${kind}`
    }),
    later: scores(answers.at(-1)),
    outbox: fields(answers[4]).map((json) => (JSON.parse(json) as { id: string }).id),
  }
}

async function inspectCrawls(redis: Redis, keys: Keys, lanes: string[], ids: string[], crawls: readonly string[]) {
  const found = {
    lists: {} as Record<string, string[]>,
    others: {} as Record<string, string[]>,
    turns: {} as Record<string, [string, number][]>,
    permitTurns: {} as Record<string, [string, number][]>,
    ids: [] as string[],
  }
  if (crawls.length === 0) return found
  const reads: (() => Promise<void>)[] = []
  const turnsAt = async (key: string): Promise<[string, number][]> => {
    const flat = await redis.zrange(key, '0', '-1', 'WITHSCORES')
    return flat.flatMap((text, at) => (at % 2 === 0 ? [[text, Number(flat[at + 1])] as [string, number]] : []))
  }
  for (const lane of lanes) {
    reads.push(async () => {
      found.turns[lane] = await turnsAt(keys.turns(lane))
    })
    reads.push(async () => {
      found.permitTurns[lane] = await turnsAt(keys.permitTurns(lane))
    })
  }
  for (const crawl of crawls) {
    reads.push(async () => {
      const rows = await redis.xrange(outcomesKey(keys.tag, crawl), '-', '+')
      found.others[crawl] = rows.map(([, pair]) => {
        const { id, kind } = JSON.parse(pair[1] ?? '') as { id: string; kind: string }
        return `${id} ${kind}`
      })
    })
    for (const lane of lanes)
      for (const list of listsOf(crawl))
        reads.push(async () => {
          found.lists[`${list} ${lane}`] = await redis.lrange(keys.list(list, lane), 0, -1)
        })
    for (const id of ids)
      reads.push(async () => {
        const { bucket, number } = idSlot(id, crawl)
        if ((await redis.sismember(keys.ids(bucket), number)) === 1) found.ids.push(`${crawl} ${id}`)
      })
  }
  await Promise.all(reads.map((read) => read()))
  return found
}
