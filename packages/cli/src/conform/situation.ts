/** A situation for a pool worker, and the checks that situations use. They are listed in situations.ts. */
import type { RequestLine } from '@decorum/audit'
import type { Candidate, Outcome } from '@decorum/protocol'
import type { Site } from '../synthetic-web/index.ts'
import type { ReceivedHeaders } from './header-site.ts'
import type { World } from './world.ts'

/** The record of one situation. */
export type Seen = {
  /** requests to its sites without robots.txt, in order */
  requests: RequestLine[]
  /** requests to the site that notes headers */
  received: ReceivedHeaders[]
  /** outcomes by id, without the name of the situation */
  outcomes: Map<string, Outcome>
}

export type Situation = {
  name: string
  /** the correct behaviour, in words */
  means: string
  /** sites without robots.txt have an empty one; they are called `<situation>-<name>` */
  sites?: Record<string, Omit<Site, 'name'>>
  /** id → its URL, or the whole candidate */
  urls: (origins: Record<string, string>) => Record<string, string | Omit<Candidate, 'id'>>
  /** most requests to its sites; default: the number of URLs */
  most?: number
  /** @returns faults; the record is audited in any case */
  judge?: (seen: Seen) => (string | false | undefined)[]
  /** interrupts the worker, once the URLs have been enqueued */
  act?: (world: World) => Promise<(string | false | undefined)[]>
}

export const of = (seen: Seen, id: string): Outcome | undefined => seen.outcomes.get(id)
/** @returns  the fault, when it ended as none of these kinds */
export const isKind = (seen: Seen, id: string, ...kinds: Outcome['kind'][]): string | false => {
  const outcome = of(seen, id)
  return (
    outcome !== undefined &&
    !kinds.includes(outcome.kind) &&
    `${id}: ended as ${outcome.kind}, not ${kinds.join(' or ')}`
  )
}
/** @returns  the fault, when its outcome says otherwise */
export const isFetched = (seen: Seen, id: string, wanted: Partial<Extract<Outcome, { kind: 'fetched' }>>) => {
  const outcome = of(seen, id)
  if (outcome?.kind !== 'fetched') return [isKind(seen, id, 'fetched')]
  return Object.entries(wanted).map(([field, value]) => {
    const reported = outcome[field as keyof typeof outcome]
    return reported !== value && `${id}: ${field} is ${JSON.stringify(reported)}, not ${JSON.stringify(value)}`
  })
}
/** The one URL of a situation with one site, called `page`. */
export const at = (path: string) => (origins: Record<string, string>) => ({ page: `${origins.site}${path}` })
/** Extra time for a busy machine. */
export const SLACK_MS = 3_000
/** Tolerance between the clock of Redis, which dates outcomes, and that of the sites. */
const CLOCKS_MS = 500
/** An outcome dated before the last byte of its answer: the lane's delay began too early, whether or not another request came early. */
export function isEarly({ requests, outcomes }: Seen, id: string, path: string): string | false {
  const [reported, end] = [outcomes.get(id)?.at, requests.findLast((one) => one.path === path)?.end]
  if (reported === undefined || end === undefined || reported >= end - CLOCKS_MS) return false
  return `${id}: completed ${Math.round(end - reported)} ms before its answer had ended`
}

/** A site that did not get processor time notices requests, and their cancellation, late. */
export const leastOpenMs = ({ start, end, resolution = 0, late = 0 }: Seen['requests'][number]): number =>
  end - late - start - resolution
