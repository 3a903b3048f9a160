/**
 * Decides whether a failed connection is the fault of the proxy or of the site behind it. A proxy that is reached and then hangs, hangs up
 * or answers 502 does so for a site that is down, and for every site when its own egress is down. Its success with other targets decides:
 * if it opened a tunnel to another target since this one was last tried, the target is at fault. Until then the fault is unclear: no
 * attempt is counted, and the target is left alone, for longer each time. If two targets fail in a row, the proxy is at fault, and all
 * lanes of the agent wait.
 */

import { Recent } from '@decorum/politeness/admission'
import type { Clock } from '@decorum/protocol'
import { EGRESS_WAIT_MS } from '../limits.ts'

export type Fault = 'site' | 'unclear' | 'proxy'

/** Most remembered targets that failed; a forgotten one is tried at once. */
const TARGETS = 10_000

/** The state of one proxy. Targets are `host:port` as in the URL. Instants are of `clock.monotonic()`. */
export class ProxyRecord {
  readonly #clock: Clock
  /** the two latest tunnels to different targets, the latest first */
  #opened: { target: string; at: number }[] = []
  readonly #failed = new Recent<string, { triedAt: number; until: number; waitMs: number }>(TARGETS)
  /** targets that failed since the last tunnel was opened */
  #inARow = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  opened(target: string): void {
    this.#failed.delete(target)
    this.#inARow.clear()
    const other = this.#opened.find((one) => one.target !== target)
    this.#opened = [{ target, at: this.#clock.monotonic() }, ...(other === undefined ? [] : [other])]
  }

  /** Whether a failure of an attempt that began at `triedAt` would count as the site's. */
  isOfSite(target: string, triedAt: number): boolean {
    const since = this.#failed.get(target)?.triedAt ?? triedAt
    return this.#opened.some((one) => one.target !== target && one.at >= since)
  }

  failed(target: string, triedAt: number): Fault {
    const isOfSite = this.isOfSite(target, triedAt)
    const now = this.#clock.monotonic()
    const known = this.#failed.get(target)
    // A site at fault has a back-off, so the next attempt need not wait here.
    const waitMs = isOfSite ? 0 : nextWaitMs(known?.waitMs)
    this.#failed.set(target, { triedAt: now, until: now + waitMs, waitMs })
    if (isOfSite) return 'site'
    if (this.#inARow.size < 2) this.#inARow.add(target)
    return this.#inARow.size < 2 ? 'unclear' : 'proxy'
  }

  waitMs(target: string): number {
    return Math.max(0, (this.#failed.get(target)?.until ?? 0) - this.#clock.monotonic())
  }
}

export const nextWaitMs = (before = 0): number =>
  before === 0 ? EGRESS_WAIT_MS.first : Math.min(before * 2, EGRESS_WAIT_MS.last)

export const targetOf = (hostname: string, port: string | undefined, protocol: string): string =>
  `${hostname.replace(/^\[|\]$/g, '')}:${port || (protocol === 'https:' ? 443 : 80)}`
