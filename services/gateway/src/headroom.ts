/**
 * Intake while Redis is short of memory. URLs that wait in the queue are stored only as fast as fetching frees memory, so that there is
 * always room for the work that frees it.
 */
import { HEADROOM, type Ledger, outcomesAllowed, type RedisMemory } from '@decorum/ledger'
import { keepDoing } from '@decorum/runtime'
import type { Logger } from 'pino'

const LOOK_MS = 1_000
/** With little memory, a job is stored at once if no URL waits in its partition, and at this interval otherwise, perhaps for long. */
const TRICKLE_MS = 2_000
const AGAIN_MS = 100

export type Headroom = ReturnType<typeof openHeadroom>

type HeadroomOptions = {
  ledger: Pick<Ledger, 'memory' | 'setLimits' | 'tags' | 'clock'>
  log: Logger
  /** OUTCOMES_LIMIT */
  outcomesLimit: () => number
  /** no URL waits in a lane of this partition */
  isIdle: (partition: number) => boolean
}

export function openHeadroom({ ledger, log, outcomesLimit, isIdle }: HeadroomOptions) {
  let memory: RedisMemory = { used: 0, most: 0, share: 0 }
  let isStopping = false
  let wasLow = false
  const lastAt = new Map<number, number>()
  /** the turn of a partition's latest job */
  const turns = new Map<number, Promise<void>>()
  const isLow = (): boolean => memory.share >= HEADROOM.intake

  const look = async (): Promise<void> => {
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
  const stop = keepDoing(ledger.clock, look, LOOK_MS, log)
  return {
    get memory(): RedisMemory {
      return memory
    },
    isLow,
    /** Resolves when a job of this partition may be stored; one at a time while memory is short. */
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
