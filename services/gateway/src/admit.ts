/** Turns a candidate into the input of store: a URL in its lane, or an outcome that is already certain. */

import { type Agent, type Agents, addressSet, entriesOf } from '@decorum/config'
import { type CrawlBook, endingOf, MOST_CRAWLS, type StoreItem, USUAL } from '@decorum/ledger'
import type { RobotsJudge } from '@decorum/politeness/admission'
import {
  crawlField,
  DAY,
  DEFAULT_CRAWL,
  hostOf,
  MAX_ID_CHARS,
  type OutcomeAbout,
  type OutcomeBody,
  outcomeOf,
  printableUrl,
  readCandidate,
  shapeOf,
} from '@decorum/protocol'
import { defined } from '@decorum/runtime'

/** A candidate without an `expiresAt` waits at most this long. */
const DEFAULT_LIFE_MS = DAY

/**
 * @param data   one candidate, not checked yet
 * @param id     used when the candidate has no id
 * @param crawl  used when the candidate names no crawl
 * @returns      the input of store, and the origin whose partition stores it (undefined: the partition of the source queue)
 */
export type Admit = (data: unknown, id: string, crawl?: string) => { origin: string | undefined; item: StoreItem }

export function admitter(
  agents: Agents,
  allowAddresses: string,
  robots: RobotsJudge,
  now: () => number,
  crawls: Pick<CrawlBook, 'recordOf' | 'mayName'> = { recordOf: () => USUAL, mayName: () => true },
): Admit {
  const mayGoTo = contactRule(allowAddresses)
  return (data, assignedId, ownCrawl) => {
    const read = readCandidate(data)
    if (!read.ok) {
      const { reason, detail } = read.refusal
      const base = {
        id: read.id ?? assignedId,
        url: printableUrl(read.url),
        agent: read.agent ?? agents.default.name,
        crawl: read.crawl ?? ownCrawl,
        meta: read.meta,
      }
      const item = known(base, now(), { kind: 'invalid', reason, ...defined({ detail }) })
      return { origin: undefined, item }
    }
    const { candidate, at } = read
    const { origin, path } = at
    const crawl = candidate.crawl ?? ownCrawl
    const id = (candidate.id ?? assignedId).slice(0, MAX_ID_CHARS)
    const agent = agents.find(candidate.agent)
    const base = {
      id,
      url: origin + path,
      agent: agent?.name ?? candidate.agent ?? '',
      crawl,
      meta: candidate.meta,
    }
    const ends = (body: OutcomeBody, about = base): ReturnType<Admit> => ({ origin, item: known(about, now(), body) })
    if (agent === undefined) {
      const names = agents.list.map(({ name }) => name).join(', ')
      return ends({ kind: 'invalid', reason: 'unknown-agent', detail: `agents are: ${names}` })
    }
    if (!crawls.mayName(crawl ?? DEFAULT_CRAWL)) {
      // Goes to the stream of the default crawl: a crawl that may not be created has no stream.
      const detail = `crawl: ${MOST_CRAWLS} crawls are known already; forget some ('decorum crawls forget')`
      return ends({ kind: 'invalid', reason: 'bad-candidate', detail }, { ...base, crawl: undefined })
    }
    const record = crawls.recordOf(crawl ?? DEFAULT_CRAWL)
    const ending = endingOf(record)
    if (ending !== undefined) return ends({ kind: 'refused', reason: ending })
    if (!mayGoTo(agent, origin)) return ends({ kind: 'refused', reason: 'no-contact' })
    const refusal = robots.atIntake(agent, origin, path)
    if (refusal !== undefined) return ends(refusal)
    const { priority, attempts: _, pool: __, ...usual } = record.settings ?? {}
    const request = shapeOf({ ...usual, ...candidate })
    return {
      origin,
      item: {
        lane: { agent: agent.key, origin },
        pending: {
          id,
          path,
          expiresAt: candidate.expiresAt ?? now() + DEFAULT_LIFE_MS,
          hops: candidate.hops ?? 0,
          priority: candidate.priority ?? priority ?? 'normal',
          ...crawlField(crawl),
          ...defined({ meta: candidate.meta, request }),
        },
      },
    }
  }
}

/** @param at  ms since 1970, of Redis's clock */
const known = (about: Omit<OutcomeAbout, 'at' | 'attempts'>, at: number, body: OutcomeBody): StoreItem => ({
  outcome: outcomeOf({ ...about, at, attempts: 0 }, body),
})

/**
 * An agent without a contact may only request from the addresses of DECORUM_ALLOW_ADDRESSES. Names are not resolved here, so the only name
 * it may use is `localhost`, which is loopback by RFC 6761 §6.3.
 */
function contactRule(allowAddresses: string): (agent: Agent, origin: string) => boolean {
  const opened = addressSet(entriesOf(allowAddresses))
  return (agent, origin) => {
    if (agent.hasContact) return true
    const host = hostOf(origin).replace(/^\[|\]$/g, '')
    if (host === 'localhost' || host.endsWith('.localhost')) return opened.has('127.0.0.1') || opened.has('::1')
    return opened.has(host)
  }
}
