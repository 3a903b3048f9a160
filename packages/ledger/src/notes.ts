/**
 * Records for operators: recent events of each origin, and examples of outcomes by reason. Notes are gathered here and written once a
 * second, a bounded number of them, trouble first: a crawl of ten thousand pages a second costs no more than one of a hundred, and only a
 * sample of it is noted. Nothing is decided by a note, so a process that dies may lose its last second of them.
 */
import { type Clock, type Outcome, printable, type Timer, type Tolerated } from '@decorum/protocol'
import type { RetryAfter, RobotsState } from '@decorum/robots'
import type { SiteLoad } from './types.ts'
import type { NoteItem, Tallies } from './verbs/note.ts'

const EVERY_MS = 1_000
/** Number of trouble notes of one partition that are written at once: about a millisecond of Redis. */
const TROUBLES = 100
const USUAL = 50
/** Number of usual outcomes of one origin that are written at once. */
const USUAL_OF_ONE = 3
/** Longest text in a note, such as a URL. */
export const NOTED_CHARS = 300

/** One exchange in its lane, on Redis's clock: it lasted from `endedAt - ms` to `endedAt`, and the lane owed `owedMs` from then on. */
export type NotedExchange = { agent: string; endedAt: number; ms: number; owedMs: number }

/** A note as stored, in JSON. Instants: ms since 1970 UTC. `exchange`: the exchange that the note is about, if there was one. */
export type Note = { at: number; exchange?: NotedExchange } & (
  | {
      what: 'outcome'
      kind: string
      agent: string
      url: string
      id: string
      reason?: string
      status?: number
      detail?: string
      /** faults of the answer that were overlooked */
      tolerated?: Tolerated[]
      /** the rule that disallowed the URL */
      rule?: string
      line?: number
    }
  /** the origin asked for less or to wait, turned a request away, or did not answer; and the resulting back-off */
  | {
      what: 'back-off'
      cause: 'asked-for-less' | 'asked-to-wait' | 'turned-away' | 'no-answer'
      agent: string
      retryAfterMs?: number
      /** a Retry-After that could not be parsed, as the site wrote it */
      retryAfterUnread?: string
      until?: number
      incidents?: number
      failures?: number
    }
  /** the robots.txt was answered, or was unreachable */
  | { what: 'robots'; answer: string; status?: number; reason?: string; detail?: string; tolerated?: Tolerated[] }
  /** a request under a permit or through the proxy: only its time is known */
  | { what: 'request' }
  /** an operation of an operator */
  | { what: 'act'; action: string; by: string; reason: string; value: string; until: number }
)

export type Notes = {
  /** @param known  the origin, if the caller has it */
  outcome(outcome: Outcome, known?: string, exchange?: NotedExchange): void
  backOff(origin: string, agent: string, load: Exclude<SiteLoad, { kind: 'normal' }>, exchange?: NotedExchange): void
  request(origin: string, exchange: NotedExchange): void
  /** @param found  overlooked faults of the answer, and why parts of the file may not mean what the site intended */
  robots(
    origin: string,
    answer: NonNullable<RobotsState['answer']>,
    found?: { tolerated?: Tolerated[] | undefined; remark?: string | undefined },
    exchange?: NotedExchange,
  ): void
  close(): void
}

/** The name under which an outcome is counted: its kind, followed by the reason if there is one. */
export const countedAs = (outcome: Outcome): string =>
  'reason' in outcome ? `${outcome.kind}/${outcome.reason}` : outcome.kind

/** How many of these notes, which are a sample, have each mark of an overlooked fault; the most frequent first. */
export function toleratedIn(notes: readonly Note[]): [mark: Tolerated, times: number][] {
  const times = new Map<Tolerated, number>()
  for (const note of notes)
    if ('tolerated' in note) for (const mark of note.tolerated ?? []) times.set(mark, (times.get(mark) ?? 0) + 1)
  return [...times].sort(([a, n], [b, m]) => m - n || a.localeCompare(b))
}

/** Codes that are counted one by one; others are counted by class, because a site may send any code. */
const STATUSES: ReadonlySet<number> = new Set([
  ...[200, 203, 204, 206, 301, 302, 303, 304, 307, 308],
  ...[400, 401, 403, 404, 405, 406, 410, 429, 451, 500, 502, 503, 504],
])
/** The name under which a status code is counted: `status/404`, `status/4xx`. */
const statusTally = (status: number): string =>
  `status/${STATUSES.has(status) ? status : `${Math.floor(status / 100)}xx`}`
/** Upper bounds of the buckets in which exchanges are counted by duration, ms; the last one has no upper bound. */
export const TOOK_AT_MOST = [25, 50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200] as const
const tookTally = (ms: number): string => `ms/${TOOK_AT_MOST.find((most) => ms <= most) ?? TOOK_AT_MOST.at(-1)}`

type Gathered = { troubles: NoteItem[]; usual: NoteItem[]; ofOrigin: Map<string, number>; tallies: Tallies }

/**
 * @param write  writes the notes gathered for one partition; a failure is not retried
 * @param wall   Redis's clock: the instant of a Retry-After is on it
 */
export function notesOf(
  clock: Clock,
  place: (origin: string) => number,
  write: (partition: number, items: NoteItem[], tallies: Tallies) => Promise<void>,
  wall: (partition: number) => number,
): Notes {
  let gathered = new Map<number, Gathered>()
  let timer: Timer | undefined
  const flush = (): void => {
    timer = undefined
    const all = gathered
    gathered = new Map()
    for (const [partition, { troubles, usual, tallies }] of all)
      write(partition, [...troubles, ...usual], tallies).catch(() => undefined)
  }
  const gatheredOf = (origin: string): Gathered => {
    const partition = place(origin)
    const found = gathered.get(partition) ?? { troubles: [], usual: [], ofOrigin: new Map(), tallies: {} }
    gathered.set(partition, found)
    timer ??= clock.timeout(flush, EVERY_MS).unref()
    return found
  }
  const trouble = (origin: string, note: Note, more: Partial<NoteItem> = {}): void => {
    const { troubles } = gatheredOf(origin)
    if (troubles.length < TROUBLES)
      troubles.push({ origin, reason: '', text: JSON.stringify(note), backOff: false, ...more })
  }
  const usual = (origin: string, noteOf: () => Note): void => {
    const { usual: all, ofOrigin } = gatheredOf(origin)
    const before = ofOrigin.get(origin) ?? 0
    if (all.length >= USUAL || before >= USUAL_OF_ONE) return
    ofOrigin.set(origin, before + 1)
    all.push({ origin, reason: '', text: JSON.stringify(noteOf()), backOff: false })
  }
  const tally = (origin: string, names: string[]): void => {
    const { tallies } = gatheredOf(origin)
    for (const name of names) tallies[name] = (tallies[name] ?? 0) + 1
  }
  return {
    outcome(outcome, known, exchange) {
      const at = known ?? URL.parse(outcome.url)?.origin ?? ''
      const origin = at === 'null' ? '' : at // text that is no URL is still an example of its reason
      const status = 'status' in outcome && outcome.status !== undefined ? [statusTally(outcome.status)] : []
      tally(origin, [...status, ...(exchange === undefined ? [] : [tookTally(exchange.ms)])])
      if ('reason' in outcome) trouble(origin, noteOf(outcome, exchange), { reason: countedAs(outcome) })
      else if (origin !== '') usual(origin, () => noteOf(outcome, exchange))
    },
    request: (origin, exchange) => usual(origin, () => ({ at: exchange.endedAt, what: 'request', exchange })),
    backOff(origin, agent, load, exchange) {
      const at = wall(place(origin))
      const { retryAfterAt = 0, retryAfterMs = 0, retryAfterUnread }: RetryAfter = load.kind === 'no-answer' ? {} : load
      const asked = Math.max(retryAfterMs, retryAfterAt - at)
      const more = {
        ...(asked > 0 ? { retryAfterMs: asked } : {}),
        ...(retryAfterUnread === undefined ? {} : { retryAfterUnread: printable(retryAfterUnread) }),
        ...(exchange === undefined ? {} : { exchange }),
      }
      trouble(origin, { at, what: 'back-off', cause: load.kind, agent, ...more }, { backOff: true })
    },
    robots(origin, { kind, at, status, reason }, { tolerated, remark } = {}, exchange) {
      const more = {
        ...(status === undefined ? {} : { status }),
        ...(reason === undefined ? {} : { reason }),
        ...(remark === undefined ? {} : { detail: remark.slice(0, NOTED_CHARS) }),
        ...(tolerated === undefined ? {} : { tolerated }),
        ...(exchange === undefined ? {} : { exchange }),
      }
      trouble(origin, { at, what: 'robots', answer: kind, ...more })
    },
    close() {
      clock.cancel(timer)
      flush()
    },
  }
}

function noteOf(outcome: Outcome, exchange: NotedExchange | undefined): Note {
  const { at, kind, agent, url, id } = outcome
  const said = outcome as Partial<Record<'reason' | 'detail', string>> & {
    status?: number
    tolerated?: Tolerated[]
    rule?: string
    line?: number
  }
  return {
    at,
    what: 'outcome',
    kind,
    agent,
    url: url.slice(0, NOTED_CHARS),
    id,
    ...(said.reason === undefined ? {} : { reason: said.reason }),
    ...(said.status === undefined ? {} : { status: said.status }),
    ...(said.detail === undefined ? {} : { detail: said.detail.slice(0, NOTED_CHARS) }),
    ...(exchange === undefined ? {} : { exchange }),
    ...(said.tolerated === undefined ? {} : { tolerated: said.tolerated }),
    ...(said.rule === undefined ? {} : { rule: said.rule.slice(0, NOTED_CHARS) }),
    ...(said.line === undefined ? {} : { line: said.line }),
  }
}
