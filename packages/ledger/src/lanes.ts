/** The lanes of one partition: park, take, begin, settle, resolve, reap. What the scripts speak in scalars, callers see as values. */
import { randomInt } from 'node:crypto'
import { isAssigned, isFrontierJob, type Outcome } from '@decorum/protocol'
import { type Batcher, batched } from './batch.ts'
import { encodeEntry, idSlot } from './entry.ts'
import { laneName, readLaneName } from './keys.ts'
import { type ReserveRequest, reserve } from './reserve.ts'
import type { Arg, Scripts } from './scripts.ts'
import { readState } from './state-text.ts'
import type {
  CompleteResult,
  Completion,
  Confirmation,
  Entry,
  HeldLane,
  LaneRef,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  Reaped,
  ReserveResult,
  Resolution,
  SecondaryRequest,
  SiteLoad,
  StartAnswer,
  StartRequest,
} from './types.ts'

/** Items of one script call: about 1 ms of Redis (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ITEMS = 200
/** How long it is remembered that something was parked, where nothing else says so. */
const MARK_MS = 7 * 86_400_000
/** The same once its job is done. */
export const DONE_MARK_MS = 3_600_000

export type LaneSettings = {
  leaseMs: number
  grantAheadMs: number
  quarantineMs: number
  reserveMs: number
  laneLimit: number
  outcomesLimit: number
  backOffMs: number
  backOffMaxMs: number
  backOffQuietMs: number
}

export type Lanes = {
  park(items: ParkItem[], mark?: ParkMark): Promise<ParkResult>
  reserve(request: ReserveRequest): Promise<ReserveResult>
  start: Batcher<StartRequest, StartAnswer>
  confirm(held: HeldLane[]): Promise<Confirmation>
  acquire(request: SecondaryRequest): Promise<Entry>
  complete: Batcher<Completion, CompleteResult>
  resolve(resolutions: Resolution[]): Promise<CompleteResult[]>
  reap(): Promise<Reaped>
}

export function lanesOf(scripts: Scripts, settings: LaneSettings): Lanes {
  const settleAll = async (items: Arg[][]): Promise<CompleteResult[]> => {
    if (items.length === 0) return []
    const { backOffMs, backOffMaxMs, backOffQuietMs } = settings
    const answer = await scripts.call('complete', backOffMs, backOffMaxMs, backOffQuietMs, ...items.flat())
    return answer.slice(2) as CompleteResult[]
  }
  return {
    park: (items, mark) => park(scripts, settings, items, mark),
    reserve: (request) => reserve(scripts, settings, request),
    start: batched((requests) => start(scripts, settings, requests), MAX_ITEMS),
    async confirm(held) {
      const args = held.flatMap((one) => [laneName(one.agent, one.origin), one.fence, one.version ?? ''])
      return (await scripts.call('confirm', ...args))[2] as Confirmation
    },
    acquire: (request) => acquire(scripts, settings, request),
    complete: batched((completions: Completion[]) => settleAll(completions.map(completionArgs)), MAX_ITEMS / 2),
    resolve: (resolutions) => settleAll(resolutions.map(resolutionArgs)),
    reap: () => reap(scripts, settings),
  }
}

/** Nobody looks up an id that a gateway has assigned: its job is accepted once, so there is no second one. */
const slotOf = (id: string): { bucket: string; number: string } =>
  isAssigned(id) ? { bucket: '', number: '' } : idSlot(id)

async function park(scripts: Scripts, settings: LaneSettings, items: ParkItem[], mark?: ParkMark): Promise<ParkResult> {
  let todo = items
  for (;;) {
    const byLane = new Map<string, Parkable[]>()
    const outcomes: Arg[] = []
    for (const item of todo) {
      if ('outcome' in item) {
        const { bucket, number } = slotOf(item.outcome.id)
        outcomes.push(JSON.stringify(item.outcome), item.outcome.kind, bucket, number, item.mark ?? '')
      } else {
        const lane = laneName(item.lane.agent, item.lane.origin)
        const group = byLane.get(lane)
        if (group === undefined) byLane.set(lane, [item])
        else group.push(item)
      }
    }
    // those with one plain URL first: in a wide crawl that is most of them
    const lanes = [...byLane].map(([lane, group]) => ({ lane, group, list: plainList(group) }))
    const [singles, others] = split(lanes, ({ group, list }) => group.length === 1 && list === 'q')
    const inOrder = [...singles, ...others]
    const answer = await scripts.call(
      'park',
      settings.laneLimit,
      ...(mark === undefined
        ? ['', '', '']
        : 'job' in mark
          ? [mark.token, mark.job, mark.chunk]
          : ['key', mark.key, 0]),
      MARK_MS,
      mark !== undefined && 'job' in mark && isFrontierJob(mark.job) ? DONE_MARK_MS : 0,
      singles.length,
      ...singles.flatMap(({ lane, group: [one] }) => [lane, encodeEntry((one as Parkable).parked)]),
      others.length,
      ...others.flatMap(laneArgs),
      ...outcomes,
    )
    if (answer[2] !== 'full') {
      return {
        parked: Number(answer[2]),
        absorbed: answer[3] === 'again' ? items.length : Number(answer[3]),
        outcomes: Number(answer[4]),
      }
    }
    todo = refuseBeyond(todo, inOrder, answer.slice(3))
  }
}

type Parkable = Extract<ParkItem, { parked: unknown }>
/** What goes into one lane: its name, its URLs, and the list of all of them if they are plain. */
type LaneGroup = { lane: string; group: Parkable[]; list: 'h' | 'q' | undefined }

/** The list that all of them go to, when nobody looks them up and no mark tells them apart. */
function plainList(group: Parkable[]): LaneGroup['list'] {
  const priority = group[0]?.parked.priority
  const isPlain = group.every(
    ({ parked, mark }) => mark === undefined && parked.priority === priority && isAssigned(parked.id),
  )
  return isPlain ? listOf(priority) : undefined
}

/** In the shortest form that says it (lua/park.lua). */
function laneArgs({ lane, group, list }: LaneGroup): Arg[] {
  if (list !== undefined) return [lane, list, group.length, ...group.map(({ parked }) => encodeEntry(parked))]
  const items = group.flatMap(({ parked, mark }): Arg[] => {
    const { bucket, number } = slotOf(parked.id)
    return [listOf(parked.priority), encodeEntry(parked), bucket, number, mark ?? '']
  })
  return [lane, '*', group.length, ...items]
}

function split<T>(items: T[], isFirst: (item: T) => boolean): [T[], T[]] {
  const [first, second]: [T[], T[]] = [[], []]
  for (const item of items) (isFirst(item) ? first : second).push(item)
  return [first, second]
}

const listOf = (priority: Parked['priority'] | undefined): 'h' | 'q' => (priority === 'high' ? 'h' : 'q')

/** What finds no room in its lane becomes an outcome; what came first stays. */
function refuseBeyond(items: ParkItem[], lanes: LaneGroup[], full: string[]): ParkItem[] {
  const beyond = new Set<ParkItem>()
  for (let at = 0; at < full.length; at += 2) {
    const group = lanes[Number(full[at]) - 1]?.group ?? []
    for (const item of group.slice(Number(full[at + 1]))) beyond.add(item)
  }
  return items.map((item) => {
    if (!beyond.has(item) || 'outcome' in item) return item
    const { lane, parked, mark } = item
    const outcome: Outcome = {
      id: parked.id,
      url: lane.origin + parked.path,
      agent: lane.agent,
      kind: 'refused',
      reason: 'lane-full',
      at: Date.now(),
      attempts: 0,
      ...(parked.meta === undefined ? {} : { meta: parked.meta }),
    }
    return mark === undefined ? { outcome } : { outcome, mark }
  })
}

async function start(scripts: Scripts, settings: LaneSettings, requests: StartRequest[]): Promise<StartAnswer[]> {
  const args = requests.flatMap((r) => {
    const clock = r.clock === undefined ? '' : laneName(r.clock.agent, r.clock.origin)
    return [laneName(r.agent, r.origin), r.fence, r.kind, r.version, r.delayMs, clock]
  })
  const answer = await scripts.call('start', settings.leaseMs, settings.grantAheadMs, ...args)
  return requests.map((_, index): StartAnswer => {
    const [kind, wait = '0', fence, delay] = (answer[2 + index] as string).split('|')
    const waitMs = Number(wait)
    if (kind === 'granted') {
      const clock = fence === undefined ? {} : { clock: { fence: Number(fence), delayMs: Number(delay) } }
      return { kind, leaseMs: settings.leaseMs, ...(waitMs > 0 ? { waitMs } : {}), ...clock }
    }
    if (kind === 'early') return { kind, waitMs }
    return { kind: 'refused', why: kind as Extract<StartAnswer, { kind: 'refused' }>['why'] }
  })
}

async function acquire(
  scripts: Scripts,
  { leaseMs }: LaneSettings,
  { lanes, kind, delayMs, of, isRobots, heldFence, by }: SecondaryRequest,
): Promise<Entry> {
  const nameOf = (lane: LaneRef | undefined): string => (lane === undefined ? '' : laneName(lane.agent, lane.origin))
  const [, , answer, value, delay, lane] = await scripts.call(
    'acquire',
    leaseMs,
    delayMs,
    kind,
    nameOf(kind === 'hop' ? lanes[0] : of),
    isRobots === true ? 1 : 0,
    heldFence ?? '',
    nameOf(by),
    ...lanes.map(nameOf),
  )
  if (answer === 'blocked') return { kind: answer }
  if (answer === 'wait') return { kind: answer, waitMs: Number(value) }
  return { kind: 'granted', lane: readLaneName(lane ?? ''), fence: Number(value), delayMs: Number(delay), leaseMs }
}

function completionArgs(s: Completion): Arg[] {
  const rested = s.elapsedMs === 0 ? 0 : s.elapsedMs.toFixed(3)
  const { outcome } = s
  if (outcome !== undefined && s.candidate === undefined && s.load.kind === 'normal' && isAssigned(outcome.id))
    return [laneName(s.agent, s.origin), s.fence, 'done', s.delayMs, rested, JSON.stringify(outcome), outcome.kind]
  const stays = outcome === undefined && s.secondary !== true
  const args: Arg[] = [
    laneName(s.agent, s.origin),
    s.fence,
    stays ? 'again' : 'end',
    s.delayMs,
    rested,
    loadArg(s.load),
    (outcome === undefined ? 0 : 1) + (s.candidate === undefined ? 0 : 1),
  ]
  if (outcome !== undefined) pushOutcome(args, outcome)
  if (s.candidate !== undefined) args.push(JSON.stringify(s.candidate), 'candidate', '')
  return args
}

const loadArg = (load: SiteLoad): string =>
  load.kind === 'normal'
    ? 'normal'
    : `${load.kind} ${randomInt(1_000) / 1_000} ${load.kind === 'asked-for-less' ? (load.retryAfterMs ?? '') : ''}`

function pushOutcome(args: Arg[], outcome: Outcome): void {
  const { bucket, number } = slotOf(outcome.id)
  args.push(JSON.stringify(outcome), outcome.kind, bucket === '' ? '' : `${bucket}:${number}`)
}

function resolutionArgs(r: Resolution): Arg[] {
  const [value, why] = r.next.kind === 'defer' ? [r.next.until.toFixed(3), r.next.why] : [0, '']
  const args: Arg[] = [laneName(r.agent, r.origin), r.fence, r.next.kind, value, 0, why, r.dropped.length]
  for (const outcome of r.dropped) pushOutcome(args, outcome)
  return args
}

async function reap(scripts: Scripts, settings: LaneSettings): Promise<Reaped> {
  const answer = await scripts.call('reap', settings.quarantineMs)
  const questions: Reaped['questions'] = []
  for (let at = 5; at < answer.length; at += 4) {
    const [lane, fence, version, state] = answer.slice(at, at + 4) as [string, string, string, string]
    questions.push({ ...readLaneName(lane), fence: Number(fence), version: Number(version), state: readState(state) })
  }
  const counted = { started: Number(answer[2]), unstarted: Number(answer[3]), questions }
  return answer[4] === '1' ? { ...counted, more: true } : counted
}
