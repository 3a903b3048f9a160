/** One robots.txt over the network, because a person asked for it: a browser's reach, our bounds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ROBOTS_MAX_BYTES } from '@decorum/robots'
import { Agent, fetch, type Response } from 'undici'
import { messageOf } from './exit.ts'

export type RobotsAnswer = {
  /** where it was asked, and where the answer was found */
  asked: string
  found: string
  ms: number
} & (
  | { kind: 'answered'; status: number; octets: Uint8Array; cut: boolean }
  | { kind: 'too-many-redirects' }
  | { kind: 'unanswered'; why: string }
)

const MAX_REDIRECTS = 5
const DEADLINE_MS = 10_000

/** @param origin  scheme://host[:port] */
export async function askRobots(origin: string, userAgent: string): Promise<RobotsAnswer> {
  const asked = `${origin}/robots.txt`
  const begun = performance.now()
  const dispatcher = new Agent({ allowH2: false, connectTimeout: DEADLINE_MS })
  let found = asked
  const answer = (rest: { kind: 'too-many-redirects' } | { kind: 'unanswered'; why: string }): RobotsAnswer => ({
    asked,
    found,
    ms: performance.now() - begun,
    ...rest,
  })
  const deadline = new AbortController()
  const ask = async (): Promise<RobotsAnswer> => {
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const headers = { 'user-agent': userAgent }
      const response = await fetch(found, { dispatcher, headers, redirect: 'manual', signal: deadline.signal })
      const to = response.headers.get('location')
      if (![301, 302, 303, 307, 308].includes(response.status) || to === null) {
        const { octets, cut } = await readBody(response)
        return { asked, found, ms: performance.now() - begun, kind: 'answered', status: response.status, octets, cut }
      }
      await response.body?.cancel()
      found = new URL(to, found).href
    }
    return answer({ kind: 'too-many-redirects' })
  }
  // Raced as well: a request that is still connecting does not notice its signal.
  const late = sleep(DEADLINE_MS, undefined, { ref: false }).then(() => {
    deadline.abort()
    return answer({ kind: 'unanswered', why: `no answer in ${DEADLINE_MS / 1_000} s` })
  })
  try {
    return await Promise.race([ask(), late])
  } catch (error) {
    return answer({ kind: 'unanswered', why: causeOf(error) })
  } finally {
    await dispatcher.destroy()
  }
}

/** The first 500 KiB of the decoded text: what every profile reads. */
async function readBody(response: Response): Promise<{ octets: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array)
    bytes += (chunk as Uint8Array).length
    if (bytes > ROBOTS_MAX_BYTES) break
  }
  return { octets: Buffer.concat(chunks).subarray(0, ROBOTS_MAX_BYTES), cut: bytes > ROBOTS_MAX_BYTES }
}

/** fetch says 'fetch failed'; what failed is in its cause. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : messageOf(cause)
}
