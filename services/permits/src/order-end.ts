/** What the worker of a pool says of its order → what becomes of the URL, as with a fetcher of the fleet. Pure. */
import { createHash } from 'node:crypto'
import type { Agent } from '@decorum/config'
import { HEAD_BYTES, isHtml, readSaid } from '@decorum/content/said'
import type { Pending, SiteLoad } from '@decorum/ledger'
import {
  base32,
  type Candidate,
  candidateOf,
  type FailureReason,
  isConditional,
  meaningOf,
  type Outcome,
  type OutcomeBody,
  outcomeOf,
  PAGE_MAX_HOPS,
  single,
  targetOf,
} from '@decorum/protocol'
import { loadOf } from './end.ts'
import type { Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { OrderSaid } from './schemas.ts'

export type AboutOrder = {
  permit: Permit
  attempt: number
  /** the URL, as its lane holds it */
  pending: Pending
  agent: Agent
  maxAttempts: number
  /** clock of Redis, ms */
  now: number
  /** since the order was handed out, ms */
  heldMs: number
}

/** Without an outcome the URL is tried again. */
export type OrderEnd = { load: SiteLoad; outcome?: Outcome; candidate?: Candidate & { id: string } }

type Fetched = Extract<OutcomeBody, { kind: 'fetched' }>

/** @throws Problem when what is said is not enough for an outcome */
export function endOfOrder(said: OrderSaid, about: AboutOrder): OrderEnd {
  const { status, headers = [], reason, error } = said
  const later = said.load === undefined ? undefined : loadOf(said.load)
  if (error !== undefined || reason !== undefined) return failure(reason ?? 'reset', error ?? '', later, about)
  if (status === undefined) throw new Problem('bad-request', 'status: is needed, or error')
  const retryAfter = said.retryAfter ?? single(headers, 'retry-after') ?? undefined
  const load = later ?? loadOf({ status, retryAfter })
  if (meaningOf(status) === 'asked-for-less') {
    const why = status === 429 ? 'rate-limited' : 'server-error'
    const detail = `status ${status} in ${about.attempt} attempts`
    const isLast = about.attempt >= about.maxAttempts
    return isLast ? { load, outcome: outcome(about, { kind: 'failed', reason: why, detail, status }) } : { load }
  }
  return redirect(status, headers, load, about) ?? { load, outcome: outcome(about, page(status, headers, said, about)) }
}

function failure(reason: FailureReason, error: string, load: SiteLoad | undefined, about: AboutOrder): OrderEnd {
  const isFinal = reason === 'blocked-address' || reason === 'blocked-port'
  const end = { load: load ?? (isFinal ? { kind: 'normal' as const } : { kind: 'no-answer' as const }) }
  if (!isFinal && about.attempt < about.maxAttempts) return end
  const detail = error.slice(0, 512)
  return { ...end, outcome: outcome(about, { kind: 'failed', reason, detail }) }
}

function redirect(
  status: number,
  headers: [string, string][],
  load: SiteLoad,
  about: AboutOrder,
): OrderEnd | undefined {
  const { pending, permit, agent } = about
  if (meaningOf(status) !== 'redirect' || pending.request?.redirects === 'report') return undefined
  const target = targetOf(headers, urlOf(about))
  if (target.kind === 'none') return undefined
  const failed = (reason: FailureReason, detail: string): OrderEnd => ({
    load,
    outcome: outcome(about, { kind: 'failed', reason, detail, status }),
  })
  if (target.kind === 'unusable') return failed('bad-redirect', target.why)
  if (pending.hops >= PAGE_MAX_HOPS) return failed('too-many-redirects', `${pending.hops} redirects before this one`)
  const candidate = candidateOf({ ...pending, fence: permit.fence }, agent.name, target.url)
  const body = { kind: 'redirected', status, to: target.url, candidate: candidate.id } as const
  return { load, outcome: outcome(about, body), candidate }
}

function page(status: number, headers: [string, string][], said: OrderSaid, about: AboutOrder): Fetched {
  const { agent, pending, heldMs, now } = about
  const ms = Math.round(Math.min(said.tookMs ?? heldMs, heldMs))
  const outcomeBody: Fetched = {
    kind: 'fetched',
    status,
    headers,
    bytes: said.bytes ?? said.body?.length ?? 0,
    truncated: said.truncated,
    digest: digestOf(said),
    startedAt: Math.round(now - ms),
    ms,
    address: said.address,
  }
  if (said.body !== undefined) outcomeBody.decodedBytes = said.body.length
  if (said.archive !== undefined) {
    const { ref, ...place } = said.archive
    outcomeBody.archive = ref === undefined ? place : { ...place, ref }
  }
  const names = [agent.name, ...agent.fallbacks].map((name) => name.toLowerCase())
  const start = said.body !== undefined && isHtml(headers) ? [said.body.subarray(0, HEAD_BYTES)] : []
  const says = readSaid(urlOf(about), headers, names, start)
  if (says !== undefined) outcomeBody.says = says
  if (status === 304 && isConditional(pending.request)) outcomeBody.unchanged = true
  if (meaningOf(status) === 'redirect') {
    const target = targetOf(headers, urlOf(about))
    if (target.kind === 'target') outcomeBody.to = target.url
  }
  return outcomeBody
}

/** Of the body, of what the worker has digested, or of nothing. */
function digestOf({ body, digest, bytes = 0 }: OrderSaid): string {
  if (body === undefined && digest !== undefined) return digest
  if (body === undefined && bytes > 0)
    throw new Problem('bad-request', 'digest: is needed for bytes without their body')
  const own = `sha1:${base32(
    createHash('sha1')
      .update(body ?? '')
      .digest(),
  )}`
  if (digest !== undefined && digest !== own)
    throw new Problem('bad-request', `digest: the body that came has ${own}: send it again`)
  return own
}

const urlOf = ({ permit, pending }: AboutOrder): string => permit.origin + pending.path

function outcome(about: AboutOrder, body: OutcomeBody): Outcome {
  const { pending, agent, attempt, now } = about
  const { id, crawl, meta } = pending
  const of = { id, url: urlOf(about), agent: agent.name, at: Math.round(now), attempts: attempt, crawl, meta }
  return outcomeOf(of, body)
}
