/** What is done to the fleet, by dice: each kind of fault in a loop of its own, written down with its times. */
import { setTimeout as sleep } from 'node:timers/promises'
import { now as clock } from '@decorum/cli/synthetic-web'
import type { ConfigChange } from './config-changes.ts'
import type { Dice } from './dice.ts'
import type { Link, LinkFault } from './link.ts'
import type { Times } from './manners.ts'
import type { Outage, RedisUnderFire } from './redis-fire.ts'
import type { Worker } from './worker.ts'

export type Kill = { name: string; role: Worker['role']; at: number }
export type Freeze = Kill & { until: number; whom: 'family' | 'child' }
export type Hurt = { name: string; role: Worker['role']; fault: LinkFault; at: number; until: number }
export type FaultLog = {
  kills: Kill[]
  freezes: Freeze[]
  outages: Outage[]
  hurts: Hurt[]
  configs: ConfigChange[]
}

const HURTS = ['slow', 'silent', 'cut', 'lost-reply'] as const satisfies readonly LinkFault[]

/** @returns which kinds of fault such a fleet has not met yet */
export function kindsMissing(
  { kills, freezes, outages, hurts, configs }: FaultLog,
  roles: Iterable<Worker['role']>,
): string[] {
  const each = [...new Set(roles)]
  const met: Record<string, boolean> = {
    ...Object.fromEntries(each.map((one) => [`a ${one} killed`, kills.some(({ role }) => role === one)])),
    ...Object.fromEntries(each.map((one) => [`a ${one} frozen`, freezes.some(({ role }) => role === one)])),
    ...Object.fromEntries(HURTS.map((one) => [`a link hurt: ${one}`, hurts.some(({ fault }) => fault === one)])),
    'Redis killed': outages.some(({ lostBytes }) => lostBytes === 0),
    'Redis killed and its file cut': outages.some(({ lostBytes }) => lostBytes > 0),
    'the configuration changed': configs.length > 0,
  }
  return Object.keys(met).filter((kind) => met[kind] === false)
}

export type Rhythm = {
  /** mean time between two faults of a kind, ms */
  killMs: number
  freezeMs: number
  hurtMs: number
  /** for which the configuration has a longer delay, and for which it then has the usual one */
  configMs: number
  /** parts of the whole at which Redis is killed, and whether its file loses its last second */
  outages: { at: number; loseMs: number }[]
}

export type Target = { worker: Worker; link?: Link; supervised: boolean }

/** Runs until the signal; every fault is healed when it resolves. */
export async function letLoose(
  targets: Target[],
  redis: RedisUnderFire,
  {
    rhythm,
    times,
    dice,
    ms,
    log,
    signal,
  }: { rhythm: Rhythm; times: Times; dice: Dice; ms: number; log: FaultLog; signal: AbortSignal },
): Promise<void> {
  const over = (): boolean => signal.aborted
  const pause = (length: number): Promise<void> => sleep(length, undefined, { signal }).catch(() => undefined)
  const about = (mean: number): number => dice.between(mean * 0.4, mean * 1.6)
  const running = (role?: Worker['role']): Target[] =>
    targets.filter(({ worker }) => worker.state === 'running' && (role === undefined || worker.role === role))

  const killer = async (): Promise<void> => {
    for (;;) {
      await pause(about(rhythm.killMs))
      if (over()) return
      const candidates = running()
      // On a busy machine a start takes long: where most are starting, killing the others would leave nothing to be judged.
      if (candidates.length * 2 < targets.length) continue
      const { worker } = dice.pick(candidates)
      log.kills.push({ name: worker.name, role: worker.role, at: clock() })
      worker.kill()
    }
  }
  const freezer = async (): Promise<void> => {
    const wanted: Worker['role'][] = ['fetcher', 'fetcher', 'fetcher', 'fetcher', 'gateway', 'permits', 'proxy']
    const there = wanted.filter((role) => targets.some(({ worker }) => worker.role === role))
    if (there.length === 0) return
    const [first, roles] = [dice.deck([...new Set(there)]), dice.deck(there)] // each role once before any again
    let left = new Set(there).size
    const next = (): Worker['role'] => (left-- > 0 ? first() : roles())
    let role = next()
    for (;;) {
      await pause(about(rhythm.freezeMs))
      if (over()) return
      const candidates = running(role)
      if (candidates.length === 0) continue // all of them are just being started: it is their turn all the same
      role = next()
      const { worker, supervised } = dice.pick(candidates)
      const whom = supervised && worker.role === 'fetcher' ? 'child' : 'family'
      // A supervisor ends it after 5 s; without one it sleeps beyond its lease.
      const length = whom === 'child' ? 15_000 : times.leaseMs * dice.between(1.2, 1.8) + times.quarantineMs
      const freeze = { name: worker.name, role: worker.role, at: clock(), until: 0, whom } as const
      worker.freeze(whom)
      await pause(length)
      worker.thaw()
      log.freezes.push({ ...freeze, until: clock() })
    }
  }
  const hurter = async (): Promise<void> => {
    const linked = targets.filter((target) => target.link !== undefined)
    if (linked.length === 0) return
    const faults = dice.deck<LinkFault>(HURTS)
    for (;;) {
      await pause(about(rhythm.hurtMs))
      if (over()) return
      const { worker, link } = dice.pick(linked)
      const fault = faults()
      const at = clock()
      link?.hurt(fault)
      if (fault === 'slow' || fault === 'silent') await pause(dice.between(500, 3_500))
      link?.heal()
      log.hurts.push({ name: worker.name, role: worker.role, fault, at, until: clock() })
    }
  }
  const breaker = async (): Promise<void> => {
    const began = clock()
    for (const { at, loseMs } of rhythm.outages) {
      await pause(Math.max(0, began + ms * at - clock()))
      if (over()) return
      log.outages.push(await redis.killAndRestart(dice.between(200, 1_500), loseMs))
    }
  }
  await Promise.all([killer(), freezer(), hurter(), breaker()])
}
