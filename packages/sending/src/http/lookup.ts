/**
 * Resolves a host name to its addresses: one query per name at a time, answers cached briefly. By default the system resolves
 * (hosts file, search list); with DNS_SERVERS those servers are queried, without the system's thread pool.
 */
import { promises } from 'node:dns'
import { Recent } from '@decorum/politeness/admission'
import { type Clock, SECOND } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import { DNS_TIMEOUT_MS } from '../limits.ts'

export type Address = { address: string; family: 4 | 6 }
/** All addresses of a name; rejects with the system's error (`code` ENOTFOUND: the name does not exist). */
export type Lookup = (host: string) => Promise<Address[]>

/** The DNS query was not answered in time. */
export class LookupTimeoutError extends Error {
  override readonly name = 'LookupTimeoutError'
  readonly code = 'EDNSTIMEOUT'
  constructor(host: string) {
    super(`the name ${host} was not answered within ${DNS_TIMEOUT_MS} ms`)
  }
}

/** How long an answer is cached. Every answer is checked anyway, so a name that changes its address is no danger. */
const KEEP_MS = 30 * SECOND
const KEPT_NAMES = 10_000
/** More addresses are ignored, so that a thousand answers do not become a thousand attempts to connect. */
const MAX_ADDRESSES = 16

export function openLookup(
  clock: Clock,
  servers: readonly string[] = [],
  ask: Lookup = servers.length > 0 ? fromServers(servers) : fromSystem,
): Lookup {
  const kept = new Recent<string, { until: number; answer: Address[] }>(KEPT_NAMES)
  const asking = new Map<string, Promise<Address[]>>()
  return (host) => {
    const known = kept.get(host)
    if (known !== undefined && known.until > clock.monotonic()) return Promise.resolve(known.answer)
    const running = asking.get(host)
    if (running !== undefined) return running
    const query = within(clock, ask(host), DNS_TIMEOUT_MS, () => new LookupTimeoutError(host))
      .then((all) => {
        const answer = all.slice(0, MAX_ADDRESSES)
        kept.set(host, { until: clock.monotonic() + KEEP_MS, answer })
        return answer
      })
      .finally(() => asking.delete(host))
    asking.set(host, query)
    return query
  }
}

const fromSystem: Lookup = (host) => promises.lookup(host, { all: true, verbatim: true }) as Promise<Address[]>

function fromServers(servers: readonly string[]): Lookup {
  const resolver = new promises.Resolver({ timeout: 2 * SECOND, tries: 2 })
  resolver.setServers(servers)
  return async (host) => {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found: Address[] = []
    if (four.status === 'fulfilled') for (const address of four.value) found.push({ address, family: 4 })
    if (six.status === 'fulfilled') for (const address of six.value) found.push({ address, family: 6 })
    if (found.length > 0) return found
    throw worse(four, six)
  }
}

/** The most informative error: a failed server matters more than a family without records (ENODATA); NXDOMAIN comes from both or none. */
function worse(...answers: PromiseSettledResult<unknown>[]): Error {
  const errors = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : [],
  )
  return (
    errors.find((error) => error.code !== 'ENODATA') ??
    errors[0] ??
    Object.assign(new Error('the name has no address'), { code: 'ENODATA' })
  )
}
