/** ① A URL that a frontier would like fetched, and the job that carries some of them (queue `candidates`). */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { CrawlName } from './crawl.ts'
import { CRAWL_NAME } from './crawl-name.ts'
import { HOP_EXAMPLE, hopsOf } from './hop-id.ts'
import { isRecord, jsonObject, lostInJson, NOT_WELL_FORMED } from './json.ts'
import { nearestName } from './nearest-name.ts'
import { type CrawlUrl, readUrl } from './origin.ts'
import { FIRST_NAME } from './partition.ts'
import { printable } from './printable.ts'
import type { InvalidReason } from './reasons.ts'
import { REQUEST_FIELDS } from './request-fields.ts'
import { MAX_SHAPE_BYTES, shapeOf } from './request-shape.ts'
import { LAST_INSTANT } from './time.ts'

/** Most candidates in one job. */
export const MAX_BATCH = 1_000
/** Longest id, in characters. */
export const MAX_ID_CHARS = 128
/** Largest meta, as JSON in UTF-8, bytes. */
export const MAX_META_BYTES = 4_096

/** The prefix of ids that a gateway has assigned. Each is assigned only once, so intake need not check whether it is stored already. */
const ASSIGNED = '#:'
export const isAssigned = (id: string): boolean => id.startsWith(ASSIGNED)
/** Whether an id has a form that only the fleet assigns, so that the fleet's candidates are never taken for a frontier's. */
const isReserved = (id: string, hops?: unknown): boolean =>
  isAssigned(id) || (hopsOf(id) !== undefined && hopsOf(id) !== hops)

/** Job ids that are never reused: BullMQ's own numbers, and those of a frontier's run. */
const SERIAL = /^\d{1,16}$/
const FRONTIER_JOB = /^f[0-9a-f]{16}-\d{1,10}$/
export const isFrontierJob = (jobId: string): boolean => FRONTIER_JOB.test(jobId)
/** @param run  16 hex digits, random: one per open frontier. @param serial  number of the job within the run */
export const frontierJob = (run: string, serial: number): string => `f${run}-${serial}`

/**
 * Makes an id for a candidate that has none, from the id of its job and its index in the job. A producer may reuse the name of a job for
 * other candidates, so the id also contains the job's time.
 * @param queue  tagName of the partition whose queue brought the job
 * @param job    its id, and the instant at which it was added, ms
 */
export function assignedId(queue: string, job: { id: string; timestamp: number }, index: number): string {
  const name = job.id.length <= MAX_ID_CHARS / 2 ? job.id : hash('sha1', job.id)
  const isGivenOnce = SERIAL.test(job.id) || isFrontierJob(job.id)
  const place = `${queue === FIRST_NAME ? '' : `${queue}/`}${name}${isGivenOnce ? '' : `@${job.timestamp}`}`
  return `${ASSIGNED}${place}.${index}`
}

const isWellFormed = (text: string): boolean => text.isWellFormed()
const INSTANT = `an instant in ms since 1970 UTC is needed, from 0 to ${LAST_INSTANT}`

/** A candidate as a frontier writes it: docs/spec/design.md §5. */
export const Candidate = z.strictObject({
  url: z.string(),
  id: z.string().min(1).max(MAX_ID_CHARS).refine(isWellFormed, NOT_WELL_FORMED).optional(),
  agent: z.string().max(64).refine(isWellFormed, NOT_WELL_FORMED).optional(),
  /** the crawl of the URL: the outcome is written to that crawl's stream, and the id is unique within it. Absent: the crawl `default` */
  crawl: CrawlName.optional(),
  priority: z.enum(['high', 'normal']).optional(),
  expiresAt: z.number(INSTANT).min(0, INSTANT).max(LAST_INSTANT, INSTANT).optional(),
  meta: jsonObject.optional(),
  /** Number of redirects that led here; a frontier that enqueues the target of a redirect again repeats it (hop-id.ts). */
  hops: z.number().int().min(0).max(10).optional(),
  ...REQUEST_FIELDS,
})
export type Candidate = z.infer<typeof Candidate>

export type CandidateRefusal = { reason: InvalidReason; detail?: string }
export type ReadCandidate =
  | { ok: true; candidate: Candidate; at: CrawlUrl }
  | {
      ok: false
      refusal: CandidateRefusal
      id?: string
      url: string
      agent?: string
      crawl?: string
      meta?: Record<string, unknown>
    }

/**
 * Reads one candidate from untrusted JSON. Never throws: an unusable candidate gives the reason, and the id and url, if they can be read,
 * for the `invalid` outcome.
 */
export function readCandidate(data: unknown): ReadCandidate {
  const parsed = Candidate.safeParse(data)
  if (!parsed.success) {
    return refuse(data, { reason: 'bad-candidate', detail: detailOf(parsed.error.issues) })
  }
  const candidate = parsed.data
  if (candidate.id !== undefined && isReserved(candidate.id, candidate.hops)) {
    return refuse(data, {
      reason: 'reserved-id',
      detail: `id: '${ASSIGNED}…' and '…${HOP_EXAMPLE}' are ids that the fleet itself gives; leave it out, or choose another`,
    })
  }
  if (candidate.meta !== undefined && !isSmall(candidate.meta))
    return refuse(data, { reason: 'meta-too-large', detail: `meta: more than ${MAX_META_BYTES} bytes` })
  const lost = lostInJson(candidate.meta)
  if (lost !== undefined) return refuse(data, { reason: 'bad-candidate', detail: `meta: ${lost}` })
  const shape = shapeOf(candidate)
  if (shape !== undefined && Buffer.byteLength(JSON.stringify(shape)) > MAX_SHAPE_BYTES)
    return refuse(data, {
      reason: 'bad-candidate',
      detail: `headers: the request's fields take more than ${MAX_SHAPE_BYTES} bytes`,
    })
  const at = readUrl(candidate.url)
  if ('refused' in at) return refuse(candidate, { reason: at.refused })
  return { ok: true, candidate, at }
}

/** Members that a frontier may write. */
const MEMBERS = Object.keys(Candidate.shape).filter((name) => name !== 'hops')

/** Describes the error in a sentence: a misspelt member first, because it explains a missing one. */
function detailOf(issues: z.core.$ZodIssue[]): string {
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys')
  if (unknown === undefined) return `${issues[0]?.path.join('.') || 'candidate'}: ${issues[0]?.message}`
  const name = unknown.keys[0] ?? ''
  const meant = nearestName(name, MEMBERS)
  return `${quotable(name)}: there is no such member; ${meant === undefined ? `there are ${MEMBERS.join(', ')}` : `did you mean ${meant}?`}`
}

/** The name of a member from untrusted JSON, shortened and without control characters. */
const quotable = (name: string): string => printable(name.slice(0, 64).toWellFormed())

function refuse(data: unknown, refusal: CandidateRefusal): ReadCandidate {
  const given: Record<string, unknown> = typeof data === 'object' && data !== null ? { ...data } : {}
  const { id, url, agent, crawl, meta, hops } = given
  const named = CrawlName.safeParse(crawl)
  return {
    ok: false,
    refusal,
    url: typeof url === 'string' ? url : '',
    ...(Candidate.shape.id.safeParse(id).success && typeof id === 'string' && !isReserved(id, hops) ? { id } : {}),
    ...(Candidate.shape.agent.safeParse(agent).success && typeof agent === 'string' ? { agent } : {}),
    ...(named.success ? { crawl: named.data } : {}),
    ...(isRecord(meta) && isSmall(meta) && lostInJson(meta) === undefined ? { meta } : {}),
  }
}

/**
 * Whether a value takes at most MAX_META_BYTES as JSON. JSON.stringify takes time in the square of the nesting depth, and writes all of the
 * value, so it is called only for values with few members and short text.
 */
function isSmall(value: object): boolean {
  try {
    return mayBeSmall(value) && Buffer.byteLength(JSON.stringify(value)) <= MAX_META_BYTES
  } catch {
    return false // an object made by a program may hold values that JSON does not support, or throw when it is read
  }
}

/** Whether MAX_META_BYTES may suffice, at two bytes for each member and one for each character. Stops as soon as they cannot. */
function mayBeSmall(value: object): boolean {
  let room = MAX_META_BYTES
  const nested: object[] = [value]
  for (const one of nested) {
    const names = Array.isArray(one) ? [] : Object.keys(one)
    room -= 2 * (Array.isArray(one) ? one.length : names.length)
    if (room < 0) return false
    for (const name of names) room -= name.length
    for (const member of Object.values(one)) {
      if (typeof member === 'string') room -= member.length
      if (typeof member === 'object' && member !== null) nested.push(member)
    }
    if (room < 0) return false
  }
  return true
}

/** The crawl of a job's candidates that name none. */
export function crawlOfJob(data: unknown): string | undefined {
  const named = isRecord(data) && 'candidates' in data ? CrawlName.safeParse(data.crawl) : undefined
  return named?.success ? named.data : undefined
}

/** Describes errors in the members of a job beside its candidates, in a sentence; undefined: none. */
export function wrongEnvelope(data: object): string | undefined {
  const other = Object.keys(data).find((name) => name !== 'candidates' && name !== 'crawl')
  if (other !== undefined) return `${quotable(other)}: a job with candidates has no other member than crawl`
  return 'crawl' in data && !CrawlName.safeParse(data.crawl).success ? `crawl: ${CRAWL_NAME}` : undefined
}

/**
 * The members of one job: a single candidate, or `{ candidates: [ … ] }`, optionally with `crawl`. An unreadable job yields one refusal.
 */
export function candidatesOf(data: unknown): unknown[] | CandidateRefusal {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return { reason: 'bad-job', detail: 'a job carries one candidate or { candidates: [ … ] }' }
  }
  if ('candidates' in data) {
    const list = data.candidates
    const detail = wrongEnvelope(data)
    if (detail !== undefined) return { reason: 'bad-job', detail }
    if (!Array.isArray(list) || list.length === 0 || list.length > MAX_BATCH) {
      return { reason: 'bad-job', detail: `candidates: an array of 1 to ${MAX_BATCH}` }
    }
    return list
  }
  if ('url' in data) return [data]
  return { reason: 'bad-job', detail: 'neither url nor candidates' }
}
