/**
 * From a host name to its addresses: one question per name at a time, answers kept briefly. Without servers of its
 * own it asks the system (hosts file, search list); with DNS_SERVERS it asks those, without the system's thread pool.
 */
import { promises, lookup as systemLookup } from 'node:dns'
import { SECOND } from '@decorum/protocol'
import { DNS_TIMEOUT_MS } from '../limits.ts'

export type Address = { address: string; family: 4 | 6 }
/** All addresses of a name; rejects with the system's error (`code` ENOTFOUND: the name does not exist). */
export type Lookup = (host: string) => Promise<Address[]>

/** The question was not answered in time. */
export class LookupTimeoutError extends Error {
  override readonly name = 'LookupTimeoutError'
  readonly code = 'EDNSTIMEOUT'
  constructor(host: string) {
    super(`the name ${host} was not answered within ${DNS_TIMEOUT_MS} ms`)
  }
}

/** A kept answer lives no longer than this: a rebinding name is asked again, and every answer is judged anyway. */
const KEEP_MS = 30 * SECOND
const KEPT_NAMES = 10_000
/** More addresses than this are cut: a thousand answers must not become a thousand attempts. */
const MAX_ADDRESSES = 16

export function openLookup(
  servers: readonly string[] = [],
  ask: Lookup = servers.length > 0 ? fromServers(servers) : fromSystem,
): Lookup {
  const kept = new Map<string, { until: number; answer: Address[] }>()
  const asking = new Map<string, Promise<Address[]>>()
  return (host) => {
    const known = kept.get(host)
    if (known !== undefined) {
      if (known.until > performance.now()) return Promise.resolve(known.answer)
      kept.delete(host)
    }
    const running = asking.get(host)
    if (running !== undefined) return running
    const question = inTime(ask(host), host)
      .then((all) => {
        const answer = all.slice(0, MAX_ADDRESSES)
        if (kept.size >= KEPT_NAMES) kept.clear()
        kept.set(host, { until: performance.now() + KEEP_MS, answer })
        return answer
      })
      .finally(() => asking.delete(host))
    asking.set(host, question)
    return question
  }
}

function inTime(answer: Promise<Address[]>, host: string): Promise<Address[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new LookupTimeoutError(host)), DNS_TIMEOUT_MS)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const fromSystem: Lookup = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, all) => {
      if (error) reject(error)
      else resolve(all.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })))
    })
  })

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

/** A family without records (ENODATA) says less than a server that failed; NXDOMAIN is said by both or by none. */
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
