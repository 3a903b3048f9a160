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

/** A fault, in words; anything else is none. */
export type Fault = string | false | undefined
/** What the record of a situation shows to be wrong. */
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
  /** the record is audited in any case */
  judge?: Check[]
  /** interrupts the worker, once the URLs have been enqueued */
  act?: (world: World) => Promise<Fault[]>
}

/** Its outcome is one of these kinds, if it has one. */
export const isKind =
  (id: string, ...kinds: Outcome['kind'][]): Check =>
  ({ outcomes }) => {
    const kind = outcomes.get(id)?.kind
    return [kind !== undefined && !kinds.includes(kind) && `${id}: ended as ${kind}, not ${kinds.join(' or ')}`]
  }
type Fetched = Extract<Outcome, { kind: 'fetched' }>
/** If it was fetched, its outcome is in order. */
export const ifFetched =
  (id: string, faultsOf: (outcome: Fetched) => Fault[]): Check =>
  ({ outcomes }) => {
    const outcome = outcomes.get(id)
    return outcome?.kind === 'fetched' ? faultsOf(outcome) : []
  }
/** It was fetched, and its outcome says this. */
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
/** The one URL of a situation with one site, called `page`. */
export const at = (path: string) => (origins: Record<string, string>) => ({ page: `${origins.site}${path}` })
/** Extra time for a busy machine. */
export const SLACK_MS = 3_000
/** Tolerance between the clock of Redis, which dates outcomes, and that of the sites. */
const CLOCKS_MS = 500
/** Its outcome is dated after the last byte of its answer: else the lane's delay began too early, whether or not another request came early. */
export const isLate =
  (id: string, path: string): Check =>
  ({ requests, outcomes }) => {
    const [reported, end] = [outcomes.get(id)?.at, requests.findLast((one) => one.path === path)?.end]
    if (reported === undefined || end === undefined || reported >= end - CLOCKS_MS) return []
    return [`${id}: completed ${Math.round(end - reported)} ms before its answer had ended`]
  }

/** A site that did not get processor time notices requests, and their cancellation, late. */
export const leastOpenMs = ({ start, end, resolution = 0, late = 0 }: Seen['requests'][number]): number =>
  end - late - start - resolution
