/** When a host, or all of them, may not be requested by the fleet's own rules: the startup hold, what operators do, and policies. */
import { hostOf, type Instant } from '@decorum/protocol'
import type { Site } from './sites.ts'

const EVERYWHERE = '*'
type Stretch = { from: Instant; to: Instant }

export class Closed {
  readonly #stretches = new Map<string, Stretch[]>()

  /** @param where  a host or an origin; undefined: everywhere. @returns ends it */
  begin(where: string | undefined, now: Instant): (at: Instant) => void {
    const stretch = { from: now, to: Number.POSITIVE_INFINITY }
    const key = where === undefined ? EVERYWHERE : where.includes('://') ? hostOf(where) : where
    this.#stretches.set(key, [...(this.#stretches.get(key) ?? []), stretch])
    return (at) => {
      stretch.to = at
    }
  }

  /** Whether it was closed at any time of a stretch. */
  between({ host }: Pick<Site, 'host'>, from: Instant, to: Instant): boolean {
    const some = [...(this.#stretches.get(host) ?? []), ...(this.#stretches.get(EVERYWHERE) ?? [])]
    return some.some((one) => one.from < to && one.to > from)
  }
}
