/** What a run has reached: cells of the table of gates that were closed to a request, and crash points that were passed. */

import {
  ACQUIRED,
  CONFIRM_ITEM,
  GRANT_ITEM,
  GRANT_WAIT,
  GRANTED,
  KIND,
  LEAVING,
  RESOLUTION,
  START_ANSWER,
  START_ITEM,
  type Verb,
} from '@decorum/ledger/testing'
import { cellOf, GATE_TABLE, type GateName, MOMENTS, type Moment, WHATS, type What } from '@decorum/protocol/gates'
import { CRASH_POINTS } from '@decorum/runtime'
import type { Call } from './calls.ts'

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
  /** lane and fence → what its lease was granted for */
  readonly #held = new Map<string, What>()

  /** As the scripts note it: `pageReserve paused`, `permitGrantEach stopped`. */
  closed(notes: readonly string[]): void {
    for (const note of notes) {
      const [name = '', gate = ''] = note.split(' ')
      const place = FUNCTIONS.get(name.replace(/Each$/, ''))
      if (place !== undefined) this.cells.add(`${gate} ${place}`)
    }
  }

  /** Gates that no reader of lua/lib/gates.lua answers for show in replies, and in what senders say of a lane. */
  ran({ verb, items, said, arg }: Call): void {
    for (const cell of LOOKS[verb as Verb]?.(items, said, arg, this.#held) ?? []) this.reach(cell)
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

/** items behind the arguments of a verb, what the reply says, the arguments by name, and what leases were granted for → cells */
type Look = (
  items: readonly string[],
  said: readonly string[],
  arg: (name: string) => string,
  held: Map<string, What>,
) => string[]

const IS_CELL = new Set(ALL_CELLS)
const EARLY = 'early'
const STALE = 'stale'
const parts = (text = ''): string[] => text.split('|')
const leaseOf = (lane = '', fence = ''): string => `${lane} ${fence}`

const LOOKS: Partial<Record<Verb, Look>> = {
  reserve: (_, [kind, waitMs]) => [
    ...(kind === 'slots-full' || kind === 'startup-hold' ? [`${kind} page reserve`] : []),
    // What is due later is not looked at: its lane is in flight, or its delay runs.
    ...(kind === 'nothing-due' && waitMs !== '' ? ['delay page reserve', 'lane-busy page reserve'] : []),
  ],
  start: (items, said, _, held) =>
    said.flatMap((text, n) => {
      const at = (name: keyof typeof START_ITEM.at): string => items[n * START_ITEM.at.size + START_ITEM.at[name]] ?? ''
      const what = at('kind') === KIND.page ? 'page' : 'robots'
      const { answer, paceFence } = START_ANSWER.read(parts(text))
      if (answer === 'granted') held.set(leaseOf(at('lane'), at('fence')), what)
      if (paceFence !== '') held.set(leaseOf(at('paceLane'), paceFence), 'host')
      const gate = answer === EARLY ? 'delay' : answer === STALE ? 'lane-busy' : answer
      const hasHost = at('paceLane') !== '' && gate === 'pace-group'
      return [`${gate} ${what} grant`, ...(hasHost ? ['lane-busy host grant', 'pace-group host grant'] : [])]
    }),
  grant: (items, said, _, held) =>
    said.flatMap((text, n) => {
      const at = (name: keyof typeof GRANT_ITEM.at): string => items[n * GRANT_ITEM.at.size + GRANT_ITEM.at[name]] ?? ''
      const { answer, fence, paceFence } = GRANTED.read(parts(text))
      if (answer !== 'granted')
        return [`${answer === 'wait' ? GRANT_WAIT.read(parts(text)).gate : answer} permit grant`]
      held.set(leaseOf(at('lane'), fence), 'permit')
      if (paceFence !== '') held.set(leaseOf(at('paceLane'), paceFence), 'host')
      return []
    }),
  claim: (_, [answer, , gate]) => [`${answer === 'wait' ? gate : answer} permitRobots reserve`],
  acquire([first = ''], said, arg, held) {
    const ofGroup = first.includes(' https://') ? 'host' : 'group'
    const what = arg('kind') === KIND.paceGroup ? ofGroup : 'hop'
    const { answer, value, lane, paceFence } = ACQUIRED.read([...said])
    if (answer !== 'granted') return [`${answer === 'wait' ? said[2] : answer} ${what} grant`]
    held.set(leaseOf(lane, value), what)
    if (paceFence !== '') held.set(leaseOf(arg('paceLane'), paceFence), 'host')
    return []
  },
  next: (_, [answer, , gate], arg) => {
    const what = arg('kind') === KIND.hop ? 'heldHop' : 'further'
    return [`${answer === 'wait' ? gate : answer === 'turn' ? 'delay' : answer} ${what} grant`]
  },
  confirm: (items, said, _, held) =>
    said.flatMap((answer, n) => {
      const { size, lane, fence } = CONFIRM_ITEM.at
      const what = held.get(leaseOf(items[n * size + lane], items[n * size + fence]))
      return answer === STALE && what !== undefined ? [`lane-busy ${what} send`] : []
    }),
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
