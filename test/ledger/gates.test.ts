/**
 * Every cell of the table of gates as a fact about the real scripts: the gate is closed, the request comes to that moment, and the ledger
 * answers as the cell says. The same request is made with scripts in which this cell alone is turned round, and is then answered otherwise.
 */
import { readPart, scriptText, VERBS, type Verb } from '@decorum/ledger/testing'
import {
  cellOf,
  GATE_TABLE,
  type LedgerGate,
  MOMENTS,
  type Moment,
  READ_GATES,
  WHATS,
  type What,
} from '@decorum/protocol/gates'
import { afterAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { ACTS, type Act, type Answer } from './gate-acts.ts'
import { CLOSERS, type Closed, type Closer, SITE } from './gate-closers.ts'
import { type Caller, cellBench, type World } from './gate-world.ts'

const redis = await redisForTest()
const bench = cellBench(redis.url)
afterAll(() => bench.close())

const NOUNS: Record<What, string> = {
  page: 'a page',
  robots: 'a robots fetch',
  permitRobots: 'a robots fetch for a permit',
  hop: 'a hop of a robots.txt',
  heldHop: 'a hop in a lane that is held',
  permit: 'a permit',
  further: 'a further request',
  host: 'the lane of the host',
  group: 'a lane of a pace group',
}
const TIMES: Record<Moment, string> = {
  reserve: 'before its reservation',
  grant: 'before its grant',
  send: 'before its first byte',
  underWay: 'under way',
}
const HOW = { ends: 'is ended by', waits: 'is held by', again: 'is judged again because of' } as const

// --- which cells a script asks for ----------------------------------------------------------------------------------

const texts = new Map<Verb, string>(VERBS.map((verb) => [verb, scriptText(verb)]))
const capital = (text: string): string => text[0]?.toUpperCase() + text.slice(1)
const pairs = (Object.keys(WHATS) as What[]).flatMap((what) =>
  (Object.keys(MOMENTS) as Moment[]).map((moment) => ({ what, moment })),
)
const verbsAsking = (what: What, moment: Moment): Verb[] =>
  VERBS.filter((verb) => new RegExp(`\\bgates_${what}${capital(moment)}(?:Each)?\\b`).test(texts.get(verb) as string))

test.each(pairs.filter(({ what, moment }) => verbsAsking(what, moment).length > 0))(
  '$what × $moment: every script that asks for it is asked here',
  ({ what, moment }) => {
    const acts = ACTS.filter((act) => act.what === what && act.moment === moment)
    expect([...new Set(acts.map(({ verb }) => verb))].sort()).toEqual(verbsAsking(what, moment).sort())
  },
)
test.each(pairs.filter(({ what, moment }) => verbsAsking(what, moment).length === 0))(
  '$what × $moment: no script asks for it, and its cells say why not',
  ({ what, moment }) => {
    for (const gate of READ_GATES) expect(cellOf(gate, what, moment), gate).toEqual(expect.any(String))
  },
)

// --- cells that no closed gate reaches -------------------------------------------------------------------------------

const NO_CRAWL = 'the script asks for a request of no crawl'
const NOT_JUDGED = 'the script asks for a request that was judged by no rules'
const NO_POLICY = 'policies are of hosts, and a group is none'
/**
 * Cells that no gate of a fleet can show, because the script leaves out what the gate is read by, or answers before it comes to the cell. There a
 * reader that says that its gate is closed takes the place of the real one.
 */
const UNREACHED: { gate: LedgerGate; why: string; cells: `${What} × ${Moment}`[] }[] = [
  { gate: 'startup-hold', why: 'reserve answers for all lanes at once', cells: ['page × reserve'] },
  {
    gate: 'crawl-held',
    why: NO_CRAWL,
    cells: [
      ...(['hop × grant', 'heldHop × grant', 'host × grant', 'group × grant'] as const),
      ...([
        'hop × send',
        'permit × send',
        'host × send',
        'group × send',
        'permit × underWay',
        'host × underWay',
      ] as const),
    ],
  },
  {
    gate: 'rules-changed',
    why: NOT_JUDGED,
    cells: [
      ...(['page × reserve', 'permitRobots × reserve', 'hop × grant', 'host × grant', 'group × grant'] as const),
      ...(['host × send', 'group × send', 'host × underWay'] as const),
    ],
  },
  ...(['visiting-hours', 'budget'] as const).map((gate) => ({
    ...{ gate, why: NO_POLICY },
    cells: ['group × grant' as const, 'group × send' as const],
  })),
]
const whyUnreached = (gate: LedgerGate, { what, moment }: Act): string | undefined =>
  UNREACHED.find((one) => one.gate === gate && one.cells.includes(`${what} × ${moment}`))?.why

/** @param gate  its reader says that it is closed */
const withReader = (gate: LedgerGate) => (file: string) => {
  if (file !== 'lib/gates') return readPart(file)
  const says = GATE_TABLE[gate].manner === 'again' ? 'true' : 'now + 1000'
  return readPart(file).replace(new RegExp(`^--- @reader ${gate} .*$`, 'm'), `--- @reader ${gate} = ${says}`)
}
function withCellTurned(gate: LedgerGate, { what, moment }: Act): typeof GATE_TABLE {
  const row = GATE_TABLE[gate]
  const cell = cellOf(gate, what, moment) === true ? 'turned round' : true
  return { ...GATE_TABLE, [gate]: { ...row, [moment]: { ...row[moment], [what]: cell } } }
}

// --- the cells --------------------------------------------------------------------------------------------------------

type Cell = { gate: LedgerGate; act: Act; closers: Closer[]; counts: boolean; why: string | undefined }
const cells: Cell[] = ACTS.flatMap((act) =>
  READ_GATES.filter((gate) => act.gates?.includes(gate) ?? true).map((gate) => ({
    ...{ gate, act, why: whyUnreached(gate, act) },
    closers: CLOSERS.filter((closer) => closer.gate === gate && (closer.through === undefined || act.origin === SITE)),
    counts: cellOf(gate, act.what, act.moment) === true,
  })),
)
function subjectOf({ what, moment, verb, variant }: Act): string {
  const which = [...(verbsAsking(what, moment).length > 1 ? [verb] : []), ...(variant === undefined ? [] : [variant])]
  return `${NOUNS[what]} ${TIMES[moment]}${which.length === 0 ? '' : ` (${which.join(', ')})`}`
}
function nameOf({ gate, act, counts }: Cell): string {
  const how = HOW[GATE_TABLE[gate].manner]
  return `${subjectOf(act)} ${counts ? how : how.replace('is', 'is not')} ${gate}`
}
const named = cells.map((cell) => [nameOf(cell), cell] as const)
const reached = named.filter(([, { why }]) => why === undefined)
const unreached = named.filter(([, { why }]) => why !== undefined)

type Run = {
  by?: (w: World) => Caller
  /** between the closing of the gate and the request */
  meanwhile?: (w: World, closed: Closed) => unknown
}
/** A request of the cell, after its gate was closed. */
async function answerOf({ act, gate }: Cell, closer: Closer | undefined, { by = (w) => w.own, meanwhile }: Run = {}) {
  const w = await bench.open()
  const ask = await act.prepare(w)
  const closed = (await closer?.close(w, act.origin)) ?? {}
  await meanwhile?.(w, closed)
  const answer = await ask(by(w))
  return { answer, isNamed: answer.gate === gate, until: closed.until, now: w.clock.now }
}
const turned = { by: (w: World) => w.changed }

/** Nobody wakes a hop that waits for a robots fetch, so it comes again soon. */
const HOP_LOOKS_AGAIN_MS = 250
function untilOf({ act, gate }: Cell, until: number, now: number): number {
  return act.verb === 'acquire' && gate === 'robots-in-flight' ? now + HOP_LOOKS_AGAIN_MS : until
}
/** Where its crawl is held, the lane of a page is due at its own time, for its other crawls; and a permit is answered with the record. */
const saysUntil = ({ act, gate }: Cell): boolean =>
  (act.moment === 'reserve' || act.moment === 'grant') &&
  !(gate === 'crawl-held' && ['start', 'grant', 'claim'].includes(act.verb))

describe('where nothing is closed', () => {
  test.each(ACTS.map((act) => [subjectOf(act), act] as const))('%s is held by nothing', async (_, act) => {
    const { answer } = await answerOf({ ...(cells[0] as Cell), act }, undefined)
    expect(answer).toEqual({})
  })
})

describe('each cell of the table', () => {
  test.each(reached)('%s', async (_, cell) => {
    const { manner } = GATE_TABLE[cell.gate]
    for (const closer of cell.closers) {
      const { answer, until, now } = await answerOf(cell, closer)
      if (!cell.counts) {
        expect(answer, closer.through).toEqual({})
        continue
      }
      const expected: Answer = { gate: cell.gate }
      if (manner === 'waits' && saysUntil(cell)) expected.until = untilOf(cell, until as number, now)
      expect(answer, closer.through).toEqual(expected)
      if (until === undefined) continue
      const isTimed = cell.gate !== 'crawl-held'
      const justBefore = (w: World): unknown => isTimed && w.clock.pass(until - w.clock.now - 1)
      expect(await answerOf(cell, closer, { meanwhile: justBefore }), 'a moment before').toMatchObject({
        isNamed: true,
      })
      const opened = (w: World, { open }: Closed) => (isTimed ? w.clock.pass(until - w.clock.now) : open?.())
      expect((await answerOf(cell, closer, { meanwhile: opened })).answer, 'then it is open').toEqual({})
    }
  })
})

describe('a cell that is turned round is noticed', () => {
  test.each(reached)('%s', async (_, cell) => {
    bench.change(cell.act.verb, scriptText(cell.act.verb, readPart, withCellTurned(cell.gate, cell.act)))
    for (const closer of cell.closers)
      expect(await answerOf(cell, closer, turned), closer.through).toMatchObject({ isNamed: !cell.counts })
  })
})

describe('cells that no gate of a fleet reaches', () => {
  test.each(unreached)('%s, by a reader that says so', async (_, cell) => {
    const { verb } = cell.act
    const table = withCellTurned(cell.gate, cell.act)
    bench.change(verb, scriptText(verb, withReader(cell.gate)))
    expect(await answerOf(cell, undefined, turned)).toMatchObject({ isNamed: cell.counts })
    bench.change(verb, scriptText(verb, withReader(cell.gate), table))
    expect(await answerOf(cell, undefined, turned)).toMatchObject({ isNamed: !cell.counts })
    bench.change(verb, scriptText(verb, readPart, table))
    for (const closer of cell.closers) {
      const { answer } = await answerOf(cell, closer)
      expect((await answerOf(cell, closer, turned)).answer, cell.why).toEqual(answer)
    }
  })
})
