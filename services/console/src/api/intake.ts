/** Candidates over HTTP: body → lines → candidates → the same BullMQ jobs that a frontier would add. */
import type { Agents } from '@decorum/config'
import {
  CANDIDATES,
  type Candidate,
  crawlOfJob,
  JOB_NAMES,
  MAX_URL_CHARS,
  partitionOf,
  printableUrl,
  type ReadCandidate,
  readCandidate,
  readUrl,
  wrongEnvelope,
} from '@decorum/protocol'
import { addJobs, type Queue } from '@decorum/protocol/bullmq'
import { Problem } from '@decorum/runtime/http-api'

/** URLs per job: at this size the cost of the job itself is small (measured: 0.5 µs of Redis per URL). */
const BATCH = 100
/** Jobs per round trip: their objects become garbage before the next ones are made. */
const JOBS_AT_ONCE = 10

/** A Problem: the body was refused, and none of it has been stored. Its `line` counts from 1 (for JSON: the member of the array). */
export type ReadBody = { candidates: { candidate: Candidate; host: string }[] } | Problem

type Shape = 'json' | 'ndjson' | 'text'
/** How the body is split, by media type. */
export const INTAKE_TYPES: Record<string, Shape> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'text/plain': 'text',
}

/**
 * A body is stored as a whole or not at all: a half-stored list could not be sent again without storing it twice.
 * @param agent, crawl  defaults for candidates that name none
 */
export function readBody(
  text: string,
  shape: Shape,
  agents: Agents,
  agent: string | undefined,
  crawl?: string,
): ReadBody {
  const candidates: { candidate: Candidate; host: string }[] = []
  const body = shape === 'json' ? readJson(text, crawl) : { members: linesOf(text, shape), crawl }
  if (body instanceof Problem) return body
  const usual = Object.entries({ agent, crawl: body.crawl }).filter(([, value]) => value !== undefined)
  const wrong = (line: number | undefined, type: string, message: string): Problem =>
    line === undefined
      ? new Problem(400, type, message)
      : new Problem(400, type, `${shape === 'json' ? 'candidate' : 'line'} ${line}: ${message}`, { line })
  for (const { line, data, broken } of body.members) {
    if (broken !== undefined) return wrong(line, 'bad-json', broken)
    // The parameters of the query are checked with the first line of text only, because they are the same for all lines
    const read =
      shape === 'text' && candidates.length > 0
        ? readLine(data as Line, candidates[0])
        : readCandidate(withUsual(data, usual))
    if (!read.ok) {
      const { reason, detail = reason } = read.refusal
      return wrong(line, reason, detail + quote(read.url))
    }
    if (agents.find(read.candidate.agent) === undefined) {
      const known = agents.list.map(({ name }) => name).join(', ')
      return wrong(
        line,
        'unknown-agent',
        `no agent is called '${printableUrl(read.candidate.agent ?? '', 64)}' (there is ${known})`,
      )
    }
    if (read.candidate.hops !== undefined)
      return wrong(line, 'bad-candidate', 'hops: only the fleet itself counts redirects; leave it out')
    candidates.push({ candidate: read.candidate, host: read.at.host })
  }
  if (candidates.length === 0) return new Problem(400, 'nothing-to-do', 'the body holds no candidate')
  return { candidates }
}

/** Adds the parameters of the query that the candidate does not set itself. */
function withUsual(data: unknown, usual: [string, string | undefined][]): unknown {
  if (usual.length === 0 || !isRecord(data)) return data
  const missing = usual.filter(([name]) => data[name] === undefined)
  return missing.length === 0 ? data : { ...data, ...Object.fromEntries(missing) }
}

type Line = { url: string }

/** A line of text is only a URL. The rest is the same as in the first candidate and is not checked again, which is twice as fast. */
function readLine({ url }: Line, like: { candidate: Candidate } | undefined): ReadCandidate {
  const at = readUrl(url)
  return 'refused' in at ? readCandidate({ url }) : { ok: true, candidate: { ...like?.candidate, url }, at }
}

type Member = { line?: number; data?: unknown; broken?: string }

/** Yields lines one at a time: a body may be all line ends, and a list of sixteen million lines would take seconds and 200 MB. */
function* linesOf(text: string, shape: 'ndjson' | 'text'): Generator<Member> {
  let line = 0
  const lines = shape === 'text' && text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
  for (let from = 0, end = 0; from <= lines.length; from = end + 1) {
    line += 1
    end = lines.indexOf('\n', from)
    if (end === from) continue
    if (end < 0) end = lines.length
    const trimmed = lines.slice(from, end).trim()
    if (trimmed === '' || (shape === 'text' && trimmed.startsWith('#'))) continue
    if (shape === 'text') yield { line, data: { url: trimmed } }
    else yield { line, ...parse(trimmed) }
  }
}

/** One candidate, a list of them, or the data of a job: `{ candidates: [ … ] }`, optionally with a crawl for candidates that name none. */
function readJson(text: string, crawl: string | undefined): { members: Member[]; crawl: string | undefined } | Problem {
  const { data, broken } = parse(text)
  if (broken !== undefined) return new Problem(400, 'bad-json', broken)
  const list = isRecord(data) && 'candidates' in data ? data.candidates : data
  if (!Array.isArray(list)) return { members: [{ data: list }], crawl }
  const members = list.map((member: unknown, index) => ({ line: index + 1, data: member }))
  if (!isRecord(data)) return { members, crawl }
  const refusal = wrongEnvelope(data)
  if (refusal !== undefined) return new Problem(400, 'bad-body', refusal)
  return { members, crawl: crawlOfJob(data) ?? crawl }
}

function parse(text: string): { data?: unknown; broken?: string } {
  try {
    return { data: JSON.parse(text) }
  } catch (error) {
    return { broken: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * Stores candidates as BullMQ jobs in the queues of their partitions.
 * @param queues  `candidates` of each partition, in order
 * @returns how many were stored before Redis refused, and that refusal
 */
export async function store(
  queues: Queue[],
  candidates: { candidate: Candidate; host: string }[],
): Promise<{ stored: number; refusal?: Error }> {
  const byPartition = Map.groupBy(candidates, ({ host }) => partitionOf(host, queues.length))
  let stored = 0
  for (const [partition, list] of byPartition) {
    const queue = queues[partition]
    if (queue === undefined) throw new RangeError(`there is no queue '${CANDIDATES}' of partition ${partition}`)
    for (let at = 0; at < list.length; at += BATCH * JOBS_AT_ONCE) {
      const some = list.slice(at, at + BATCH * JOBS_AT_ONCE)
      const jobs = []
      for (let from = 0; from < some.length; from += BATCH) {
        const data = { candidates: some.slice(from, from + BATCH).map(({ candidate }) => candidate) }
        jobs.push({ name: JOB_NAMES.candidates, data, opts: { removeOnComplete: true } })
      }
      try {
        await addJobs(queue, jobs)
      } catch (error) {
        return { stored, refusal: error instanceof Error ? error : new Error(String(error)) }
      }
      stored += some.length
    }
  }
  return { stored }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const quote = (url: string): string => (url === '' ? '' : `: ${printableUrl(url, Math.min(200, MAX_URL_CHARS))}`)
