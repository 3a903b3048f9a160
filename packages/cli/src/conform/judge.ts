/** Lists a worker's faults in one situation, from the records of the sites and the outcomes of the URLs. Pure. */
import type { RequestLine, Violation } from '@decorum/audit'
import type { Outcome } from '@decorum/protocol'
import { some } from '../say.ts'
import type { ReceivedHeaders } from './header-site.ts'
import { AGENT } from './settings.ts'
import type { Fault, Situation } from './situation.ts'

export type Evidence = {
  requests: RequestLine[]
  violations: readonly Violation[]
  outcomes: ReadonlyMap<string, Outcome[]>
  /** origins by the name of the site */
  origins: Readonly<Record<string, string>>
  /** records of the site that notes headers */
  received: readonly ReceivedHeaders[]
}

export function complaintsOf(situation: Situation, evidence: Evidence): string[] {
  const { name, sites = {} } = situation
  const own = new Set(Object.keys(sites).map((site) => evidence.origins[`${name}-${site}`]))
  const urls = Object.entries(situation.urls({ headers: '' }))
  const paths = new Set(urls.map(([, url]) => (typeof url === 'string' ? url : url.url)))
  const requests = evidence.requests
    .filter(({ origin, path }) => own.has(origin) && path !== '/robots.txt')
    .toSorted((one, other) => one.start - other.start)
  const received = evidence.received.filter(({ path }) => paths.has(path))
  const outcomes = new Map<string, Outcome>()
  const complaints: Fault[] = []
  for (const [id] of urls) {
    const reported = evidence.outcomes.get(`${name}.${id}`) ?? []
    if (reported.length !== 1 && name !== 'terminated')
      complaints.push(`${id}: ${reported.length === 0 ? 'no outcome' : 'a second outcome'}`)
    if (reported[0] !== undefined) outcomes.set(id, reported[0])
  }
  for (const { offence, origin, path, because } of evidence.violations)
    if (own.has(origin)) complaints.push(`${path}: ${offence}: ${because}`)
  for (const { path, agent } of requests)
    if (agent !== AGENT.userAgent) complaints.push(`${path}: User-Agent was ${agent === '' ? 'missing' : agent}`)
  const most = situation.most ?? urls.length
  if (requests.length > most)
    complaints.push(
      `${some(requests.length, 'request')}, at most ${most} were ordered: ${requests.map(({ path }) => path).join(' ')}`,
    )
  for (const check of situation.judge ?? []) complaints.push(...check({ requests, received, outcomes }))
  return complaints.filter((one) => typeof one === 'string')
}
