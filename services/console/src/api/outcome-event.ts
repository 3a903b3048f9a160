/** An outcome as OpenAPI describes it: `data:` of an event `outcome` (docs/spec/design.md §5). */
import {
  FAILURE_REASONS,
  GATES,
  INVALID_REASONS,
  type Outcome,
  REFUSED_REASONS,
  TOLERATED,
  type Tolerated,
} from '@decorum/protocol'
import { z } from 'zod'
import { CANDIDATE_STATES } from '../candidate-status.ts'
import { instant, meta, Why } from './answers.ts'

const outcome = <K extends Outcome['kind'], T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.strictObject({
    id: z.string(),
    url: z.string(),
    agent: z.string(),
    kind: z.literal(kind),
    at: instant,
    attempts: z.number().int(),
    crawl: z.string().optional().meta({ description: 'absent: of the crawl `default`' }),
    meta: meta.optional(),
    ...shape,
  })
export const OutcomeEvent = z
  .discriminatedUnion('kind', [
    outcome('fetched', {
      status: z.number().int(),
      headers: z.array(z.tuple([z.string(), z.string()])),
      bytes: z.number().int(),
      decodedBytes: z.number().int().optional(),
      truncated: z.union([z.literal(false), z.enum(['length', 'time', 'disconnect', 'type'])]),
      digest: z.string(),
      startedAt: instant,
      ms: z.number(),
      address: z.string(),
      timing: z
        .strictObject({
          dnsMs: z.number().optional(),
          connectMs: z.number().optional(),
          tlsMs: z.number().optional(),
          firstByteMs: z.number().optional(),
          totalMs: z.number(),
        })
        .optional(),
      protocol: z.string().optional(),
      tls: z.string().optional(),
      archive: z
        .strictObject({
          file: z.string(),
          offset: z.number().int(),
          length: z.number().int(),
          ref: z.string().optional().meta({ description: 'for GET /v1/content?ref=' }),
        })
        .optional(),
      says: z
        .strictObject({
          robots: z.array(z.string()).optional(),
          canonical: z.string().optional(),
          language: z.string().optional(),
          charset: z.string().optional(),
        })
        .optional()
        .meta({ description: 'what the site says about the page, in headers and in the head of HTML' }),
      tolerated: z
        .array(z.enum(Object.keys(TOLERATED) as Tolerated[]))
        .optional()
        .meta({ description: 'faults of the answer that were overlooked, as browsers do' }),
      unchanged: z.literal(true).optional().meta({ description: '304 to the validators of the candidate' }),
      to: z.string().optional().meta({ description: 'target of a redirect that was to be reported' }),
    }),
    outcome('redirected', { status: z.number().int(), to: z.string(), candidate: z.string() }),
    outcome('disallowed', { rule: z.string(), line: z.number().int(), group: z.array(z.string()) }),
    outcome('failed', { reason: z.enum(FAILURE_REASONS), status: z.number().int().optional(), detail: z.string() }),
    outcome('expired', { reason: z.enum(GATES) }),
    outcome('invalid', { reason: z.enum(INVALID_REASONS), detail: z.string().optional() }),
    outcome('refused', { reason: z.enum(REFUSED_REASONS) }),
  ])
  .meta({ id: 'Outcome' })

/** Outcomes in one answer. */
export const OutcomesAnswer = z.strictObject({
  outcomes: z.array(
    z.strictObject({ id: z.string().meta({ description: 'for POST /v1/outcomes/ack' }), outcome: OutcomeEvent }),
  ),
})

export const CandidateAnswer = z
  .strictObject({
    state: z.enum(CANDIDATE_STATES).meta({
      description:
        'not-taken-in: in a job that no gateway has read; reserved: its order is on its way to a fetcher; in-flight: at a ' +
        'fetcher; stored: in a lane, but where is not known',
    }),
    sentence: z.string(),
    id: z.string().optional(),
    url: z.string().optional(),
    agent: z.string().optional(),
    priority: z.enum(['high', 'normal']).optional(),
    expiresAt: instant.optional(),
    before: z.number().int().optional().meta({ description: 'URLs of its lane that come before it' }),
    attempts: z.number().int().optional(),
    why: Why.optional(),
    outcome: OutcomeEvent.optional(),
  })
  .meta({ id: 'CandidateStatus' })
export const CancelledAnswer = z.strictObject({ outcome: OutcomeEvent })

type Keys<T> = T extends unknown ? keyof T : never
type Untold = Exclude<Keys<Outcome>, Keys<z.output<typeof OutcomeEvent>>>
/** Does not compile while an outcome has a field that the schema lacks, so that the API's description stays complete. */
type AllIsTold = [Untold] extends [never] ? true : Untold
true satisfies AllIsTold
