/** A partition for each cell of the table of gates: many on one Redis, each with a clock that its test moves. */

import {
  ANNOUNCED,
  defineScripts,
  defineVerbs,
  EPOCH,
  type Keys,
  keysOf,
  laneName,
  readLaneRecord,
  scriptsOf,
  type Verb,
  type Verbs,
  verbSettings,
  verbsOf,
} from '@decorum/ledger/testing'
import { VIEW_VERBS, viewsOf, viewText } from '@decorum/ledger/views/testing'
import { systemClock } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { type Clock, clockAt, LEASE, PATIENT, QUARANTINE } from './ledger-for-test.ts'

/** Half an hour before a day (UTC) ends: a lane of a pace group is told an instant within the hour. */
const START = Date.UTC(2027, 0, 15, 23, 30)
export const HOLD = LEASE + QUARANTINE
/** Leases under test outlast every gate that is closed. */
const LONG = 86_400_000

export type Lane = { agent: string; origin: string }
export type Caller = Verbs & Pick<ReturnType<typeof viewsOf>, 'operate'>
export type World = {
  clock: Clock
  keys: Keys
  raw: Redis
  /** asks for the requests under test */
  own: Caller
  /** the same with the script that was changed */
  changed: Caller
  /** everybody else: operators, and agents that need the origin to close a gate */
  others: Caller
  /** the robots fetch that the holder under test has begun: another one has to wait for its end */
  fetch?: { origin: string; fence: number }
  dueOf(lane: Lane): Promise<number | undefined>
  /** the gate that holds a lane in `due` */
  heldBy(lane: Lane): Promise<string | undefined>
}

export type Bench = {
  open(): Promise<World>
  /** `changed` has this text of a verb from here on */
  change(verb: Verb, text: string): void
  close(): void
}

/** @param url  of a Redis that no other file uses */
export function cellBench(url: string): Bench {
  const [raw, changed] = [new Redis(url), new Redis(url)]
  for (const redis of [raw, changed]) {
    defineVerbs(redis)
    defineScripts(redis, VIEW_VERBS, viewText)
  }
  let worlds = 0
  return {
    change: (verb, text) => defineScripts(changed, [verb], () => text),
    close() {
      raw.disconnect()
      changed.disconnect()
    },
    async open() {
      const keys = keysOf(`{cell-${++worlds}}`)
      const clock = clockAt(START)
      const caller = (redis: Redis, leaseMs: number): Caller => {
        const scripts = scriptsOf(redis, keys, {
          ...{ holdMs: HOLD, longestLeaseMs: LEASE, nowMs: () => clock.now },
          ...PATIENT,
        })
        const settings = verbSettings({ leaseMs, quarantineMs: QUARANTINE, clock: { ...systemClock, random: () => 0 } })
        return { ...verbsOf(scripts, settings), operate: viewsOf(scripts).operate }
      }
      await raw.hset(keys.epoch, EPOCH.restartAnnounced, ANNOUNCED.unknown) // it is new, and need not wait
      const others = caller(raw, LEASE)
      await others.reap()
      return {
        ...{ clock, keys, raw, others },
        own: caller(raw, LONG),
        changed: caller(changed, LONG),
        async dueOf({ agent, origin }) {
          const due = await raw.zscore(keys.due, laneName(agent, origin))
          return due === null ? undefined : Number(due)
        },
        async heldBy({ agent, origin }) {
          const record = await raw.hget(keys.lanes, laneName(agent, origin))
          return record === null ? undefined : readLaneRecord(record).memory?.heldBy
        },
      }
    },
  }
}
