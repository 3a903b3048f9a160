/**
 * Brings a ledger of an earlier layout to this version's, while URLs wait and leases run: docs/decisions/0021-upgrades.md.
 *
 * close   every partition refuses both versions; requests in flight end by themselves
 * copy    origins and leases are written by their names of now, beside the earlier ones; a step back is possible
 * switch  one script per partition; its end is written down, and this version may run
 * tidy    the earlier names are dropped while the fleet works
 */
import { checkRedis, LedgerUnfitError, mastersOf, type RedisLink, readTags } from '@decorum/ledger'
import { EPOCH, KEY, keysOf, LAYOUT } from '@decorum/ledger/stored'
import { ORDERS } from '@decorum/protocol'
import { type Change, holdingChange } from './change-lock.ts'
import { MIGRATION, type Migration } from './migration.ts'
import { upgradeScripts as steps } from './scripts.ts'

export type UpgradeOptions = {
  redis: RedisLink
  /** back to the earlier layout, as long as no partition has the new one */
  back?: boolean
  onProgress?: (progress: Upgraded) => void
  /** tests only: in place of this version's */
  migration?: Migration | undefined
}
export type Upgraded = {
  from: string
  to: string
  /** processes that had announced themselves within the last 5 s before: they are refused from the first step on */
  processes: number
  origins: number
  leases: number
  lanes: number
  /** from the first partition that was closed to the last one that was opened, ms: nothing is granted meanwhile */
  closedMs: number
}

const CALL_MS = 10_000
/** Items of one step: Redis is busy for well under a millisecond. */
const STEP = 200
/** Behind the tag: leases as they will be stored. */
const NEXT_LEASES = 'leases>next'

/** The layouts of the partitions that were ever called, each once; a change that is under way looks like `3>5`. One with crawls is this version's, too. */
export async function layoutsOf(redis: RedisLink): Promise<string[]> {
  const { tags, retired } = await readTags(redis)
  const found = await Promise.all(
    [...tags, ...retired].map((tag) => redis.hmget(keysOf(tag).epoch, EPOCH.layout, EPOCH.run)),
  )
  const layouts = found.flatMap(([layout, run]) => ((layout ?? run) ? [layout ?? '1'] : []))
  return [...new Set(layouts.map((layout) => (layout === LAYOUT.withCrawls ? LAYOUT.version : layout)))]
}

const isKnown = (migration: Migration | undefined, layout: string): boolean => migration?.from.includes(layout) === true

/** It has an earlier layout that this version knows, and no process has announced itself for 5 s. */
export async function canUpgradeAlone(redis: RedisLink, migration = MIGRATION): Promise<boolean> {
  const layouts = (await layoutsOf(redis)).map((layout) => layout.split('>')[0] ?? '')
  if (!layouts.some((layout) => isKnown(migration, layout))) return false
  const { tags, retired } = await readTags(redis)
  return (await processesOf(redis, [...tags, ...retired])) === 0
}

/**
 * Safe to call again after it broke off: it goes on where it stopped. A ledger that has this version's layout is left as it is.
 * @throws LedgerUnfitError for a layout that this version does not know, while another change is under way, and for a step back that
 *         comes too late
 */
export async function upgrade(options: UpgradeOptions): Promise<Upgraded> {
  const { redis, back = false, migration = MIGRATION } = options
  await checkRedis(redis, CALL_MS)
  const found = (await layoutsOf(redis)).map((layout) => layout.split('>')[0] ?? '')
  const earlier = found.find((layout) => layout !== LAYOUT.version) ?? (await leftoversOf(redis))
  const to = LAYOUT.version
  const done = { from: earlier ?? to, to, processes: 0, origins: 0, leases: 0, lanes: 0, closedMs: 0 }
  if (earlier === undefined) {
    if (back) throw new LedgerUnfitError(`there is nothing to step back from: layout ${to} is in use`)
    return done
  }
  if (migration === undefined || !isKnown(migration, earlier))
    throw new LedgerUnfitError(
      `this version cannot read layout ${earlier}: it knows ${[...(migration?.from ?? []), to].join(', ')}`,
    )
  return holdingChange(redis, (change) => underLock({ ...options, change, migration, done }))
}

async function leftoversOf(redis: RedisLink): Promise<string | undefined> {
  const { tags, retired } = await readTags(redis)
  const found = await Promise.all([...tags, ...retired].map((tag) => redis.hget(keysOf(tag).epoch, EPOCH.leftovers)))
  return found.find((from) => from !== null) ?? undefined
}

type Work = UpgradeOptions & { change: Change; migration: Migration; done: Upgraded }

async function underLock(work: Work): Promise<Upgraded> {
  const { redis, change, migration, done } = work
  const { from, to } = migration
  const { tags, retired } = await readTags(redis)
  const all = [...tags, ...retired]
  done.processes = await processesOf(redis, all)
  const closedAt = performance.now()
  const open: string[] = []
  const switched: string[] = []
  for (const tag of all) {
    await change.take(tag)
    const stands = String(await change.write(tag, steps.begin, { to }, from))
    if (stands === 'under way') open.push(tag)
    else if (stands === 'done') switched.push(tag)
    else if (stands !== 'unused')
      throw new LedgerUnfitError(
        `partition ${tag} has layout ${stands}, not ${from.join(' or ')} as others have: restore a backup`,
      )
  }
  if (work.back === true) return stepBack(work, open, switched)
  await copy(work, open)
  const keys = Object.entries(migration.keys)
  const renamed = [...keys, ...Object.entries(migration.counts)].flat()
  for (const tag of open) await change.write(tag, steps.switch, { to, next: NEXT_LEASES, keys: keys.length }, renamed)
  if (open.length > 0) done.closedMs = Math.round(performance.now() - closedAt)
  await dropFields(work, [...open, ...switched], Object.keys(migration.originFields))
  for (const gate of migration.held)
    await eachHeld(work, all, gate, (tag, lanes) => change.write(tag, steps.holdLanes, {}, lanes))
  for (const tag of [...open, ...switched]) await change.write(tag, steps.forgetLeftovers, {})
  return done
}

async function stepBack(work: Work, open: string[], switched: string[]): Promise<Upgraded> {
  const { change, migration } = work
  if (switched.length > 0)
    throw new LedgerUnfitError(
      `a step back is too late: ${switched.length} partition${switched.length === 1 ? ' has' : 's have'} layout ${migration.to} already. Finish with 'decorum upgrade', or restore a backup`,
    )
  await dropFields(work, open, Object.values(migration.originFields))
  for (const [earlier, name] of Object.entries(migration.gates)) await renameGate(work, open, name, earlier)
  for (const tag of open) await change.write(tag, steps.stepBack, { to: migration.to, next: NEXT_LEASES })
  return work.done
}

async function copy(work: Work, tags: string[]): Promise<void> {
  const { redis, change, migration, done, onProgress } = work
  const names = Object.keys(migration.originFields)
  const fields = [...names, ...Object.values(migration.originFields)]
  await eachOrigin(work, tags, async (tag, origins) => {
    if (names.length > 0) await change.write(tag, steps.copyOrigins, { count: names.length }, [...fields, ...origins])
    done.origins += origins.length
    onProgress?.(done)
  })
  for (const tag of tags)
    for await (const lanes of fieldsOf(redis, keysOf(tag).leases)) {
      await change.write(tag, migration.putLeases, { next: NEXT_LEASES }, lanes)
      done.leases += lanes.length
      onProgress?.(done)
    }
  for (const [before, after] of Object.entries(migration.gates)) await renameGate(work, tags, before, after)
}

const renameGate = (work: Work, tags: string[], before: string, after: string): Promise<void> =>
  eachHeld(work, tags, before, async (tag, lanes) => {
    await work.change.write(tag, steps.renameGate, { before, after }, lanes)
    work.done.lanes += lanes.length
  })

/** Lanes that a gate holds, and perhaps some others. */
async function eachHeld(
  { redis, done, onProgress }: Work,
  tags: string[],
  gate: string,
  act: (tag: string, lanes: string[]) => Promise<unknown>,
): Promise<void> {
  for (const tag of tags)
    for await (const lanes of fieldsOf(redis, keysOf(tag).lanes, (record) => record.includes(`|${gate}|`))) {
      await act(tag, lanes)
      onProgress?.(done)
    }
}

async function dropFields(work: Work, tags: string[], fields: string[]): Promise<void> {
  if (tags.length === 0 || fields.length === 0) return
  await eachOrigin(work, tags, (tag, origins) =>
    work.change.write(tag, steps.dropFields, { count: fields.length }, [...fields, ...origins]),
  )
}

/** Fields of a hash, so many at a time; a field may come twice. */
async function* fieldsOf(
  redis: RedisLink,
  key: string,
  wanted: (value: string) => boolean = () => true,
): AsyncGenerator<string[]> {
  let cursor = '0'
  do {
    const [next, flat] = await redis.hscan(key, cursor, 'COUNT', STEP)
    cursor = next
    const fields = flat.filter((_, at) => at % 2 === 0 && wanted(flat[at + 1] ?? ''))
    yield* inSteps(fields)
  } while (cursor !== '0')
}

/**
 * Every origin of these partitions, found by its key in one pass over each server. Waiting orders of the earlier version are dropped on
 * the way while partitions are closed: their reservations end by themselves, and the URLs stay first in their lanes.
 */
async function eachOrigin(
  { redis, change, migration }: Work,
  tags: string[],
  step: (tag: string, origins: string[]) => Promise<unknown>,
): Promise<void> {
  const behindTag = `:${KEY.origin}`
  const { to } = migration
  for (const server of mastersOf(redis)) {
    let cursor = '0'
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', '{decorum:*', 'COUNT', 5 * STEP)
      cursor = next
      const origins = new Map<string, string[]>()
      const orders = new Map<string, string[]>()
      for (const key of keys) {
        const end = key.indexOf('}') + 1
        const [tag, rest] = [key.slice(0, end), key.slice(end)]
        if (!tags.includes(tag)) continue
        if (rest.startsWith(behindTag)) addTo(origins, tag, rest.slice(behindTag.length))
        else if (rest.startsWith(`:${ORDERS}:`)) addTo(orders, tag, key)
      }
      for (const [tag, found] of orders)
        for (const some of inSteps(found)) await change.write(tag, steps.dropWhileClosed, { to }, some)
      for (const [tag, found] of origins) for (const some of inSteps(found)) await step(tag, some)
    } while (cursor !== '0')
  }
}

function addTo(lists: Map<string, string[]>, tag: string, one: string): void {
  const list = lists.get(tag)
  if (list === undefined) lists.set(tag, [one])
  else list.push(one)
}

function* inSteps(all: string[]): Generator<string[]> {
  for (let at = 0; at < all.length; at += STEP) yield all.slice(at, at + STEP)
}

/** Processes that have announced themselves; without the ledger's own script, which knows one layout. */
async function processesOf(redis: RedisLink, tags: string[]): Promise<number> {
  const [seconds] = await redis.time()
  const found = await Promise.all(
    tags.map(async (tag) => {
      const shift = await redis.hget(keysOf(tag).epoch, EPOCH.shift)
      const now = Number(seconds) * 1_000 + Number(shift ?? 0)
      return redis.zrangebyscore(`${tag}:${KEY.fleet}`, now, '+inf', 'LIMIT', 0, 1_000)
    }),
  )
  return new Set(found.flat().map((member) => member.split(' ', 2).join(' '))).size
}
