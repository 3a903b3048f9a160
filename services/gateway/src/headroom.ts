/**
 * Intake while Redis is short of memory. URLs that wait in the queue are stored only as fast as fetching frees memory, so that there is
 * always room for the work that frees it.
 */
import { HEADROOM, type Ledger, outcomesAllowed, type RedisMemory } from '@decorum/ledger'
import { keepDoing } from '@decorum/runtime'
import type { Logger } from 'pino'

const CHECK_MS = 1_000
/** While memory is short, a partition stores one job in this time, or at once if none of its URLs waits. */
const TRICKLE_MS = 2_000
const AGAIN_MS = 100

export type Headroom = ReturnType<typeof openHeadroom>

type HeadroomOptions = {
  ledger: Pick<Ledger, 'memory' | 'setLimits' | 'tags' | 'clock'>
  log: Logger
  /** OUTCOMES_LIMIT */
  outcomesLimit: () => number
  /** whether no URL waits in a lane of this partition */
  isIdle: (partition: number) => boolean
}

export function openHeadroom({ ledger, log, outcomesLimit, isIdle }: HeadroomOptions) {
  let memory: RedisMemory = { used: 0, most: 0, share: 0 }
  let isStopping = false
  let wasLow = false
  const lastAt = new Map<number, number>()
  /** per partition: the turn of its latest job */
  const turns = new Map<number, Promise<void>>()
  const isLow = (): boolean => memory.share >= HEADROOM.intake

  const check = async (): Promise<void> => {
    memory = await ledger.memory()
    ledger.setLimits({ outcomesLimit: outcomesAllowed(outcomesLimit(), memory, ledger.tags.length) })
    if (isLow() === wasLow) return
    wasLow = isLow()
    const percent = Math.round(memory.share * 100)
    if (wasLow) log.warn({ percent }, 'Redis is nearly full: URLs are taken in only as fast as others leave')
    else log.info({ percent }, 'Redis has room again: URLs are taken in')
  }
  const mayGo = (partition: number): boolean => {
    if (isStopping || !isLow()) return true
    if (memory.share >= HEADROOM.over) return false
    return isIdle(partition) || ledger.clock.monotonic() - (lastAt.get(partition) ?? 0) >= TRICKLE_MS
  }
  const stop = keepDoing(ledger.clock, check, CHECK_MS, log)
  return {
    get memory(): RedisMemory {
      return memory
    },
    isLow,
    /** Resolves when a job of this partition may be stored, one at a time while memory is short; undefined: at once. */
    turn(partition: number): Promise<void> | undefined {
      if (!isLow()) return undefined
      const turn = async (): Promise<void> => {
        while (!mayGo(partition)) await ledger.clock.sleep(AGAIN_MS)
        lastAt.set(partition, ledger.clock.monotonic())
      }
      const next = (turns.get(partition) ?? Promise.resolve()).then(turn)
      turns.set(partition, next)
      return next
    },
    async stop(): Promise<void> {
      isStopping = true
      await stop()
    },
  }
}
