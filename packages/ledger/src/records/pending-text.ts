/**
 * A URL as its lane's list holds it: `path expiry hops[~attempts][@from] id [more]`, without its origin. About 20 bytes beside the path
 * (measured: `bench/lanes.bench.ts`). Earlier versions read `hops` up to the first of '~' and '@'; lane.lua counts the attempts. The expiry
 * is in seconds on the clock of Redis, base 36, rounded up. `more` is JSON: the object `meta`, or `[request, meta]` when the candidate
 * shapes its request.
 */
import { hash } from 'node:crypto'
import { DEFAULT_CRAWL, LAST_INSTANT, type RedirectTarget, type RequestShape } from '@decorum/protocol'
import { crawlOf, type List, priorityOf } from '../layout.ts'
import type { Pending } from '../types.ts'

export function writePending(pending: Pending): string {
  const { from, attempts, meta, request } = pending
  const tried = attempts === undefined ? '' : `~${attempts}`
  const hops = `${pending.hops.toString(36)}${tried}${from === undefined ? '' : `@${from}`}`
  const head = `${pending.path} ${Math.ceil(pending.expiresAt / 1_000).toString(36)} ${hops} ${escapeId(pending.id)}`
  if (request !== undefined) return `${head} ${JSON.stringify(meta === undefined ? [request] : [request, meta])}`
  return meta === undefined ? head : `${head} ${JSON.stringify(meta)}`
}

/** Reads an entry of a list, which determines priority and crawl. */
export function decodeIn(list: List, entry: string): Pending {
  const pending = readPending(entry, priorityOf(list))
  const crawl = crawlOf(list)
  if (crawl !== DEFAULT_CRAWL) pending.crawl = crawl
  return pending
}

/** Parses an entry, which `writePending` wrote. */
export function readPending(entry: string, priority: Pending['priority']): Pending {
  const a = entry.indexOf(' ')
  const b = entry.indexOf(' ', a + 1)
  const c = entry.indexOf(' ', b + 1)
  const d = entry.indexOf(' ', c + 1)
  const at = entry.indexOf('@', b)
  return {
    path: entry.slice(0, a),
    // Earlier versions accepted any number: an instant beyond what an order can carry is read as the last possible one.
    expiresAt: Math.min(Number.parseInt(entry.slice(a + 1, b), 36) * 1_000, LAST_INSTANT),
    hops: Number.parseInt(entry.slice(b + 1, c), 36),
    id: unescapeId(d < 0 ? entry.slice(c + 1) : entry.slice(c + 1, d)),
    priority,
    ...attemptsIn(entry.slice(b + 1, c)),
    ...(at > 0 && at < c ? { from: entry.slice(at + 1, c) } : {}),
    ...(d < 0 ? {} : moreOf(JSON.parse(entry.slice(d + 1)) as Meta | [RequestShape, Meta?])),
  }
}

/** Whether two entries of a list are the same URL, which may have been requested in between. */
export function isSameUrl(one: string, other: string): boolean {
  const untried = (entry: string): string => entry.replace(/^(\S+ \w+ \w+)~\d+/, '$1')
  return one === other || untried(one) === untried(other)
}

function attemptsIn(hops: string): Pick<Pending, 'attempts'> {
  const [, attempts] = /^\w+~(\d+)/.exec(hops) ?? []
  return attempts === undefined ? {} : { attempts: Number(attempts) }
}

type Meta = Record<string, unknown>

function moreOf(more: Meta | [RequestShape, Meta?]): Pick<Pending, 'meta' | 'request'> {
  if (!Array.isArray(more)) return { meta: more }
  const [request, meta] = more
  return meta === undefined ? { request } : { request, meta }
}

/**
 * The target of a redirect as the outbox holds it: a candidate in JSON. `from` is a fragment of its URL, which every version removes,
 * because an earlier one refuses a candidate with an unknown member.
 */
export function writeTarget({ from, ...candidate }: RedirectTarget): string {
  return JSON.stringify(from === undefined ? candidate : { ...candidate, url: `${candidate.url}#${from}` })
}

export function readTarget(text: string): RedirectTarget {
  const candidate = JSON.parse(text) as RedirectTarget
  const [url = '', from] = candidate.url.split('#')
  return from === undefined ? candidate : { ...candidate, url, from }
}

/** Escapes an id, which is the user's text: every character that could end a field. */
const escapeId = (id: string): string => id.replace(/[%\s\p{Cc}]/gu, (c) => encodeURIComponent(c))
const unescapeId = (id: string): string => (id.includes('%') ? decodeURIComponent(id) : id)

const BUCKETS = 4_096
const NO_TEXT = Buffer.of(0xff)

/**
 * Where the id of a stored candidate is kept: a bucket and a 63-bit number, so that Redis uses 8 bytes each. Bucket and number are separate
 * bits of one SHA-1: with 75 bits, one in 10⁵ ledgers of 10⁹ stored ids has a false match. Each crawl has its own ids, separated from those
 * of the default one by a byte that UTF-8 never contains.
 */
export function idSlot(id: string, crawl = DEFAULT_CRAWL): { bucket: string; number: string } {
  const digest = hash(
    'sha1',
    crawl === DEFAULT_CRAWL ? id : Buffer.concat([NO_TEXT, Buffer.from(`${crawl} ${id}`)]),
    'buffer',
  )
  return { bucket: String(digest.readUInt16BE(0) % BUCKETS), number: String(digest.readBigUInt64BE(2) >> 1n) }
}
