/**
 * The robots fetches in a record. A chain is a GET of /robots.txt and the hops that follow its redirects; each /robots.txt in a chain is a
 * fetch of that origin's rules, from that request to the end of the chain.
 */
import { Numbers } from './numbers.ts'

/** Redirects that a fetch follows at most; RFC 9309 §2.3.1.2 requires at least five. */
export const MOST_HOPS = 5
const REDIRECTS = new Set([301, 302, 303, 307, 308])

export const isRedirect = (status: number): boolean => REDIRECTS.has(status)

/** All chains and fetches of a record, in columns to save memory: a log may consist of robots fetches only. */
export class Chains {
  readonly #chainOf: Int32Array
  /** for each chain its first and last row, and its number of hops */
  readonly #first = new Numbers()
  readonly #last = new Numbers()
  readonly #hops = new Numbers(Uint8Array)
  /** for each fetch its chain, the row of its /robots.txt, and the number of earlier hops in the chain */
  readonly #fetchChain = new Numbers()
  readonly #fetchFirst = new Numbers()
  readonly #fetchHops = new Numbers(Uint8Array)

  /** for each hop the row before it in its chain, plus one */
  readonly #before = new Numbers()
  readonly #lanes: number
  /** for each lane the instant of `redirectedAt`, ms since 1970; created at the first redirect */
  #redirectedAt: Float64Array | undefined

  constructor(rows: number, lanes: number) {
    this.#chainOf = new Int32Array(rows)
    this.#lanes = lanes
  }

  get fetches(): number {
    return this.#fetchChain.length
  }

  /** chain of a row, -1: none */
  ofRow = (row: number): number => (this.#chainOf[row] as number) - 1
  first = (chain: number): number => this.#first.get(chain)
  last = (chain: number): number => this.#last.get(chain)
  hops = (chain: number): number => this.#hops.get(chain)
  isHop(row: number): boolean {
    const chain = this.ofRow(row)
    return chain >= 0 && this.first(chain) !== row
  }
  chainOf = (fetch: number): number => this.#fetchChain.get(fetch)
  /** the row of the fetch's /robots.txt, which is a hop if another request began the chain */
  firstOf = (fetch: number): number => this.#fetchFirst.get(fetch)
  lastOf = (fetch: number): number => this.last(this.chainOf(fetch))
  hopsBefore = (fetch: number): number => this.#fetchHops.get(fetch)

  begin(row: number): number {
    const chain = this.#first.push(row)
    this.#last.push(row)
    this.#hops.push(0)
    this.#chainOf[row] = chain + 1
    return chain
  }
  join(chain: number, row: number): void {
    this.#before.set(row, this.last(chain) + 1)
    this.#last.set(chain, row)
    this.#hops.set(chain, this.hops(chain) + 1)
    this.#chainOf[row] = chain + 1
  }
  /** Records that a GET of a lane's own /robots.txt was redirected. */
  redirected(lane: number, at: number): void {
    this.#redirectedAt ??= new Float64Array(this.#lanes).fill(Number.POSITIVE_INFINITY)
    this.#redirectedAt[lane] = Math.min(this.#redirectedAt[lane] as number, at)
  }
  /** Earliest end of a redirected GET of the lane's own /robots.txt, ms since 1970; Infinity: there was none. */
  redirectedAt = (lane: number): number => this.#redirectedAt?.[lane] ?? Number.POSITIVE_INFINITY

  beginFetch(chain: number, row: number): void {
    this.#fetchFirst.push(row)
    this.#fetchHops.push(this.hops(chain))
    this.#fetchChain.push(chain)
  }

  /** Whether the predicate is true for any earlier row (at most five) in this row's chain. */
  someBefore(row: number, is: (row: number) => boolean): boolean {
    for (let at = this.#before.get(row); at > 0; at = this.#before.get(at - 1)) if (is(at - 1)) return true
    return false
  }
}
