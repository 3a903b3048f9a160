/** A situation for a pool worker, and the checks that situations use. situations.ts lists the situations. */
import type { RequestLine } from '@decorum/audit'
import type { Candidate, Outcome } from '@decorum/protocol'
import type { Site } from '../synthetic-web/index.ts'
import type { ReceivedHeaders } from './header-site.ts'
import type { World } from './world.ts'

/** The record of one situation. */
export type Seen = {
  /** requests to its sites in order, except for robots.txt */
  requests: RequestLine[]
  /** requests to the site that notes headers */
  received: ReceivedHeaders[]
  /** outcomes by id, without the name of the situation */
  outcomes: Map<string, Outcome>
}

/** A fault, in words; false or undefined: no fault. */
export type Fault = string | false | undefined
/** Lists faults that the record of a situation shows. */
type Check = (seen: Seen) => Fault[]

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
  /** further checks; the record is audited in any case */
  judge?: Check[]
  /** interrupts the worker, once the URLs have been enqueued */
  act?: (world: World) => Promise<Fault[]>
}

/** Checks that the outcome of a URL, if any, is of one of these kinds. */
export const isKind =
  (id: string, ...kinds: Outcome['kind'][]): Check =>
  ({ outcomes }) => {
    const kind = outcomes.get(id)?.kind
    return [kind !== undefined && !kinds.includes(kind) && `${id}: ended as ${kind}, not ${kinds.join(' or ')}`]
  }
type Fetched = Extract<Outcome, { kind: 'fetched' }>
/** Checks the outcome of a URL if it was fetched. */
export const ifFetched =
  (id: string, faultsOf: (outcome: Fetched) => Fault[]): Check =>
  ({ outcomes }) => {
    const outcome = outcomes.get(id)
    return outcome?.kind === 'fetched' ? faultsOf(outcome) : []
  }
/** Checks that the outcome of a URL, if any, is `fetched` and has these values. */
export const isFetched =
  (id: string, wanted: Partial<Fetched>): Check =>
  (seen) => [
    ...isKind(id, 'fetched')(seen),
    ...ifFetched(id, (outcome) =>
      Object.entries(wanted).map(([field, value]) => {
        const reported = outcome[field as keyof Fetched]
        return reported !== value && `${id}: ${field} is ${JSON.stringify(reported)}, not ${JSON.stringify(value)}`
      }),
    )(seen),
  ]
/** The only URL of a situation with one site; its id is `page`. */
export const at = (path: string) => (origins: Record<string, string>) => ({ page: `${origins.site}${path}` })
/** Extra time for a busy machine. */
export const SLACK_MS = 3_000
/** Tolerance between the clock of Redis, which dates outcomes, and that of the sites. */
const CLOCKS_MS = 500
/** Checks that an outcome is dated after the last byte of the answer: else the delay began too early, even if no request came too early. */
export const isLate =
  (id: string, path: string): Check =>
  ({ requests, outcomes }) => {
    const [reported, end] = [outcomes.get(id)?.at, requests.findLast((one) => one.path === path)?.end]
    if (reported === undefined || end === undefined || reported >= end - CLOCKS_MS) return []
    return [`${id}: completed ${Math.round(end - reported)} ms before its answer had ended`]
  }

/** Least time that a request was open, ms: a site without processor time notices requests and their cancellation late. */
export const leastOpenMs = ({ start, end, resolution = 0, late = 0 }: Seen['requests'][number]): number =>
  end - late - start - resolution
