/** Those who flood the HTTP side of a fleet, in a process of their own: five limited tokens, and clients that have none. */
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostileOrigin, type Place } from './hostile-owners.ts'
import { NICE } from './nice.ts'

export type CallersOptions = { permits: string; console: string; tokens: string[]; crawl: string; places: Place[] }
/** answers by deed and status; 0: none */
export type CallersCounts = Record<string, Record<number, number>>

/** Open at once, of each token. */
const AT_ONCE = 8
const BIG_BODIES = 4
const WRONG_PASSWORDS = 10
const PASSWORD_PAUSE_MS = 20
/** Hosts of tokens are not those that the frontier pours. */
const FIRST_HOST = 2_000_000

setPriority(NICE)
process.once('disconnect', () => process.exit())
const counts: CallersCounts = {}
const json = { 'content-type': 'application/json' }

async function call(deed: string, url: string, init: RequestInit): Promise<void> {
  const status = await fetch(url, init).then(
    async (answer) => {
      await answer.arrayBuffer().catch(() => undefined)
      return answer.status
    },
    () => 0,
  )
  counts[deed] ??= {}
  counts[deed][status] = (counts[deed][status] ?? 0) + 1
  if (status === 0) await sleep(PASSWORD_PAUSE_MS)
}

const forEver = async (act: () => Promise<void>): Promise<never> => {
  for (;;) await act()
}

process.once('message', ({ permits, console: page, tokens, crawl, places }: CallersOptions) => {
  let host = FIRST_HOST
  for (const token of tokens) {
    const headers = { ...json, authorization: `Bearer ${token}` }
    const post = (deed: string, more: object): Promise<void> => {
      const url = `${hostileOrigin(places, host++)}/`
      return call(deed, `${permits}/v1/permits`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ url, crawl, ...more }),
      })
    }
    const deeds = [
      () =>
        call('robots', `${permits}/v1/robots?url=${encodeURIComponent(`${hostileOrigin(places, host++)}/`)}`, {
          headers,
        }),
      () => post('shadow', { shadow: true }),
      // Whoever is granted one neither uses nor ends it.
      () => post('permits', { waitMs: 5_000 }),
    ]
    for (let n = 0; n < AT_ONCE; n++) void forEver(deeds[n % deeds.length] as () => Promise<void>)
  }
  const bodies = ['['.repeat(7_400_000) + ']'.repeat(7_400_000), `[${'{},'.repeat(4_950_000)}{}]`]
  for (let n = 0; n < BIG_BODIES; n++) {
    const body = bodies[n % bodies.length] as string
    const path = n < bodies.length ? '/v1/permits' : '/v1/permits/x/completion'
    void forEver(() => call('big bodies', permits + path, { method: 'POST', headers: json, body }))
  }
  const authorization = `Basic ${Buffer.from('decorum:not-the-password').toString('base64')}`
  for (let n = 0; n < WRONG_PASSWORDS; n++)
    void forEver(async () => {
      await call('wrong passwords', `${page}/v1/fleet`, { headers: { authorization } })
      await sleep(PASSWORD_PAUSE_MS)
    })
  process.on('message', () => process.send?.(counts))
})
