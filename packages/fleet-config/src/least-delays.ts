/** Gives the minimum delay of each agent to the ledger, whose scripts then grant nothing earlier to any caller. */
import type { Agents } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'

export type LeastDelays = {
  /** this version of the fleet's configuration has been taken over */
  write(version: number): void
  stop(): void
}

/** Sends them now, after each change, and once a second: a partition may be away, or may have lost its data. */
export function writeLeastDelays(
  { ledger, agents }: { ledger: Pick<Ledger, 'setLeastDelays'>; agents: Agents },
  version: number,
): LeastDelays {
  const write = (): void => {
    const leastDelays = agents.list.map(({ key, minDelayMs }) => ({ agent: key, delayMs: minDelayMs }))
    ledger.setLeastDelays(version, leastDelays).catch(() => undefined)
  }
  write()
  const writing = setInterval(write, SECOND).unref()
  return {
    write(next) {
      version = next
      write()
    },
    stop: () => clearInterval(writing),
  }
}
