/**
 * Reads the sitemaps of an origin. The fleet fetches each sitemap as a candidate, under the origin's rules, lane and delay, so sitemaps are
 * requested as politely as pages.
 */
import { randomBytes } from 'node:crypto'
import type { Delivery, Frontier } from '@decorum/client'
import { readSitemap } from '@decorum/content/sitemap'
import { hostOf, type Outcome, readUrl } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'

export type WalkOptions = {
  /** scheme://host[:port] */
  origin: string
  agent: string | undefined
  /** most URLs to yield */
  most: number
  /** most sitemaps fetched */
  maxSitemaps: number
  /** sitemaps that the stored robots.txt names; undefined: none is stored. Called again after an outcome, when one has been fetched */
  named: () => Promise<string[] | undefined>
  warn: (sentence: string) => void
}

export type Walked = {
  /** sitemaps that could be read */
  sitemaps: number
  urls: number
  /** number of URLs of other hosts, which are left out */
  skipped: number
  /** whether a limit was reached */
  cut: boolean
}
export type FoundUrl = { url: string; sitemap: string }

/** Most levels of indexes: the protocol allows one, but a few sites have indexes of indexes. */
const MAX_DEPTH = 3

/**
 * Yields the URLs of the origin's host as they are found; duplicates are not removed.
 * @returns the totals
 */
export async function* walkSitemaps(
  frontier: Frontier,
  options: WalkOptions,
): AsyncGenerator<FoundUrl, Walked, undefined> {
  const { origin, agent, most, maxSitemaps, named, warn } = options
  const run = `sitemaps-${randomBytes(6).toString('hex')}`
  const host = hostOf(origin)
  const seen = new Set<string>()
  const walked: Walked = { sitemaps: 0, urls: 0, skipped: 0, cut: false }
  let open = 0

  const add = async (urls: readonly string[], depth: number) => {
    const fresh = urls.filter((url) => !seen.has(url) && !('refused' in readUrl(url)))
    const room = fresh.slice(0, maxSitemaps - seen.size)
    if (room.length < fresh.length) walked.cut = true
    for (const url of room) seen.add(url)
    open += room.length
    const meta = { sitemaps: run, depth }
    await frontier.enqueue(room.map((url) => ({ url, meta, ...defined({ agent }) })))
  }

  /** The URLs in one fetched sitemap. */
  async function* entriesOf({ outcome, content }: Delivery, depth: number): AsyncGenerator<FoundUrl> {
    if (content === undefined) return warn(`${outcome.url}: its fetcher keeps no pages, so it cannot be read`)
    const further: string[] = []
    let entries = 0
    try {
      const type = content.headers.get('content-type')
      const isCut = outcome.kind === 'fetched' && Boolean(outcome.truncated)
      for await (const { kind, url } of readSitemap(content.stream(), { type, url: outcome.url, isCut })) {
        if (entries++ === 0) walked.sitemaps++
        if (kind === 'sitemap') further.push(url)
        else if (URL.parse(url)?.hostname !== host) walked.skipped++
        else if (walked.urls >= most) {
          walked.cut = true
          return
        } else {
          walked.urls++
          yield { url, sitemap: outcome.url }
        }
      }
      if (entries === 0) {
        walked.sitemaps++
        warn(`${outcome.url}: it names no URL`)
      }
      if (isCut) warn(`${outcome.url}: only a part of it came, and that has been read`)
    } catch (error) {
      warn(`${outcome.url}: ${(error as Error).message}`)
    }
    if (further.length > 0 && depth >= MAX_DEPTH) walked.cut = true
    else await add(further, depth + 1)
  }

  const group = { group: run, consumer: run }
  try {
    await frontier.createGroup({ group: run, from: 'now' })
    let known = await named()
    let guess: string | undefined
    // Nothing is fetched before robots.txt, so this first candidate makes the fleet fetch robots.txt too
    await add(known === undefined || known.length === 0 ? [`${origin}/sitemap.xml`] : known, 0)
    if (open === 0) return walked
    for await (const delivery of frontier.outcomes(group)) {
      const { outcome, ack } = delivery
      const { kind, meta } = outcome
      if (meta?.sitemaps === run && kind !== 'redirected') {
        const depth = Number(meta.depth)
        if (kind === 'fetched' && outcome.status === 200) yield* entriesOf(delivery, depth)
        else if (known !== undefined || kind !== 'fetched') warn(`${outcome.url}: ${whyNot(outcome)}`)
        else guess = `${outcome.url}: ${whyNot(outcome)}` // reported only if robots.txt names no other sitemap
        if (known === undefined) {
          known = (await named()) ?? []
          await add(known, 0)
          if (open === 1 && guess !== undefined) warn(guess)
        }
        open--
      }
      await ack()
      if (open === 0 || walked.urls >= most) return walked
    }
    return walked
  } finally {
    await frontier.removeGroup(run).catch(() => undefined)
  }
}

const whyNot = (outcome: Outcome): string =>
  outcome.kind === 'fetched'
    ? `status ${outcome.status}`
    : `${outcome.kind}${'reason' in outcome ? `: ${outcome.reason}` : ''}`
