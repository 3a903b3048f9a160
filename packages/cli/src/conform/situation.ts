/** A situation that a worker of a pool is taken through, and what situations judge by. They are listed in situations.ts. */
import type { RequestLine } from '@decorum/audit'
import type { Candidate, Outcome } from '@decorum/protocol'
import type { Site } from '../synthetic-web/index.ts'
import type { HeardHeaders } from './header-site.ts'
import type { World } from './world.ts'

/** What was seen of one situation. */
export type Seen = {
  /** of its sites, robots.txt left out, in order */
  requests: RequestLine[]
  /** of the site that notes headers */
  heard: HeardHeaders[]
  /** by id without the name of the situation */
  outcomes: Map<string, Outcome>
}

export type Situation = {
  name: string
  /** what a good worker does */
  means: string
  /** `page`, or `name.page` of another site of the situation, → its URL; sites are called `<situation>-<name>` */
  sites?: Record<string, Omit<Site, 'name'>>
  urls: (origins: Record<string, string>) => Record<string, string | Omit<Candidate, 'id'>>
  /** most requests of its sites; default: as many as URLs */
  most?: number
  /** @returns what is wrong; the record is audited besides, whatever it says */
  judge?: (seen: Seen) => (string | false | undefined)[]
  /** what happens to the worker meanwhile, once the URLs have been enqueued */
  act?: (world: World) => Promise<(string | false | undefined)[]>
}

export const RULES = { body: '' }
export const of = (seen: Seen, id: string): Outcome | undefined => seen.outcomes.get(id)
/** @returns  what is wrong, when it ended as none of these kinds */
export const isKind = (seen: Seen, id: string, ...kinds: Outcome['kind'][]): string | false => {
  const outcome = of(seen, id)
  return (
    outcome !== undefined &&
    !kinds.includes(outcome.kind) &&
    `${id}: ended as ${outcome.kind}, not ${kinds.join(' or ')}`
  )
}
/** @returns  what is wrong, where its outcome says something else */
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
/** On a busy machine everything takes longer. */
export const SLACK_MS = 3_000
/** The clock of Redis, by which outcomes are dated, and that of the sites may differ by less than this. */
const CLOCKS_MS = 500
/** An outcome from before the last byte of its answer: the delay of the lane began too early, whether or not another request suffered. */
export function isEarly({ requests, outcomes }: Seen, id: string, path: string): string | false {
  const [reported, end] = [outcomes.get(id)?.at, requests.findLast((one) => one.path === path)?.end]
  if (reported === undefined || end === undefined || reported >= end - CLOCKS_MS) return false
  return `${id}: completed ${Math.round(end - reported)} ms before its answer had ended`
}

/** A site that was kept from running notices late that a request came, and late that it was given up. */
export const leastOpenMs = ({ start, end, resolution = 0, late = 0 }: Seen['requests'][number]): number =>
  end - late - start - resolution
