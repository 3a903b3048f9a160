/** What a run has reached: cells of the table of gates that were closed to a request, and crash points that were passed. */

import { ARGS, EVERY_CALL, KIND, LEAVING, RESOLUTION, START_ITEM, type Verb } from '@decorum/ledger/testing'
import { cellOf, GATE_TABLE, type GateName, MOMENTS, type Moment, WHATS, type What } from '@decorum/protocol/gates'
import { CRASH_POINTS } from '@decorum/runtime'

const WHAT_NAMES = Object.keys(WHATS) as What[]
const MOMENT_NAMES = Object.keys(MOMENTS) as Moment[]
const GATE_NAMES = Object.keys(GATE_TABLE) as GateName[]

/** Cells that count, as `gate what moment`. */
export const ALL_CELLS = GATE_NAMES.flatMap((gate) =>
  WHAT_NAMES.flatMap((what) =>
    MOMENT_NAMES.flatMap((moment) => (cellOf(gate, what, moment) === true ? [`${gate} ${what} ${moment}`] : [])),
  ),
)
export const ALL_POINTS: readonly string[] = Object.values(CRASH_POINTS).flat()

/** `pageReserve` → what and moment */
const FUNCTIONS = new Map(
  WHAT_NAMES.flatMap((what) =>
    MOMENT_NAMES.map((moment) => [`${what}${moment[0]?.toUpperCase()}${moment.slice(1)}`, `${what} ${moment}`]),
  ),
)

export class Coverage {
  readonly cells = new Set<string>()
  readonly points = new Set<string>()

  /** As the scripts note it: `pageReserve paused`, `permitGrantEach stopped`. */
  closed(notes: readonly string[]): void {
    for (const note of notes) {
      const [name = '', gate = ''] = note.split(' ')
      const place = FUNCTIONS.get(name.replace(/Each$/, ''))
      if (place !== undefined) this.cells.add(`${gate} ${place}`)
    }
  }

  /** Gates that no reader of lua/lib/gates.lua answers for show in replies, and in what senders say of a lane. */
  ran(name: string, args: readonly unknown[], reply: unknown): void {
    const verb = name.slice('decorum_'.length) as Verb
    const look = LOOKS[verb]
    if (look === undefined || !Array.isArray(reply)) return
    const names: readonly string[] = ARGS[verb]
    const arg = (of: string): string => String(args[KEYS_AND_COMMON + names.indexOf(of)])
    const items = args.slice(KEYS_AND_COMMON + names.length).map(String)
    for (const cell of look(items, reply.slice(2).map(String), arg)) this.reach(cell)
  }

  /** What is said of a request may also be no gate of it, such as `granted`. */
  reach(cell: string): void {
    if (IS_CELL.has(cell)) this.cells.add(cell)
  }

  add(other: Coverage): void {
    for (const cell of other.cells) this.cells.add(cell)
    for (const point of other.points) this.points.add(point)
  }
}

/** Two keys and EVERY_CALL in front of the arguments of a verb. */
const KEYS_AND_COMMON = 2 + EVERY_CALL.length

/** items behind the arguments of a verb, what the reply says, the arguments by name → cells */
type Look = (items: readonly string[], said: readonly string[], arg: (name: string) => string) => string[]

const IS_CELL = new Set(ALL_CELLS)
const first = (text = ''): string => text.split('|')[0] ?? ''

const LOOKS: Partial<Record<Verb, Look>> = {
  reserve: (_, [kind, waitMs]) => [
    ...(kind === 'slots-full' ? ['slots-full page reserve'] : []),
    // What is due later is not looked at: its lane is in flight, or its delay runs.
    ...(kind === 'nothing-due' && waitMs !== '' ? ['delay page reserve', 'lane-busy page reserve'] : []),
  ],
  start(items, said) {
    const { size, kind, paceLane } = START_ITEM.at
    return said.flatMap((text, n) => {
      const what = items[n * size + kind] === 'page' ? 'page' : 'robots'
      const gate = first(text) === 'early' ? 'delay' : first(text)
      const hasHost = items[n * size + paceLane] !== ''
      return [
        `${gate} ${what} grant`,
        ...(hasHost && gate === 'pace-group' ? ['lane-busy host grant', 'pace-group host grant'] : []),
      ]
    })
  },
  grant: (_, said) => said.flatMap((text) => [`${text.split('|')[2]} permit grant`]),
  claim: (_, [answer, , gate]) =>
    answer === 'wait' ? [`${gate} permitRobots reserve`] : [`${answer} permitRobots reserve`],
  acquire(_, [answer, , gate], arg) {
    const ofGroup = arg('kind') === KIND.paceGroup
    return [`${answer === 'wait' ? gate : answer} ${ofGroup ? 'group' : 'hop'} grant`]
  },
  next: (_, [answer, , gate], arg) => {
    const what = arg('kind') === 'hop' ? 'heldHop' : 'further'
    return [`${answer === 'wait' ? gate : answer === 'turn' ? 'delay' : answer} ${what} grant`]
  },
  confirm: (_, [answer]) =>
    answer === 'stale'
      ? ['page', 'robots', 'hop', 'permit', 'host', 'group'].map((what) => `lane-busy ${what} send`)
      : [],
  resolve(items) {
    const { size, gate, leaving, next } = RESOLUTION.at
    const cells: string[] = []
    for (let at = 0; at < items.length;) {
      if (items[at + next] !== '') cells.push(`${items[at + gate]} page grant`, `${items[at + gate]} robots grant`)
      const left = Number(items[at + leaving])
      for (let n = 0; n < left; n++)
        if (items[at + size + n * LEAVING.at.size + LEAVING.at.kind]?.startsWith('expired'))
          cells.push('expired page reserve')
      at += size + left * LEAVING.at.size
    }
    return cells
  },
}
