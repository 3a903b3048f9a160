/** An outcome as OpenAPI describes it: `data:` of an event `outcome` (docs/spec/design.md §5). */
import {
  FAILURE_REASONS,
  GATES,
  INVALID_REASONS,
  type Outcome,
  REFUSED_REASONS,
  TOLERATED,
  type Tolerated,
  TRUNCATED,
} from '@decorum/protocol'
import { z } from 'zod'
import { CANDIDATE_STATES } from '../candidate-status.ts'
import { instant, meta, Why } from './answers.ts'

/** Numbers are integers, and each key has one type, so that programs that read tables can infer the types from the first lines. */
const whole = z.number().int()
const moment = whole.meta({ description: 'ms since 1970 UTC' })

const outcome = <K extends Outcome['kind'], T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.strictObject({
    id: z.string(),
    url: z.string(),
    agent: z.string(),
    kind: z.literal(kind),
    at: moment,
    attempts: whole,
    crawl: z.string().optional().meta({ description: 'absent: of the crawl `default`' }),
    meta: meta.optional(),
    ...shape,
  })
const tolerated = z
  .array(z.enum(Object.keys(TOLERATED) as Tolerated[]))
  .optional()
  .meta({ description: 'faults of the answer that were overlooked, as browsers do' })

export const OutcomeEvent = z
  .discriminatedUnion('kind', [
    outcome('fetched', {
      status: whole,
      headers: z.array(z.tuple([z.string(), z.string()])),
      bytes: whole,
      decodedBytes: whole.optional(),
      truncated: z.enum(TRUNCATED).meta({ description: "why the body is not whole; '': it is" }),
      digest: z.string(),
      startedAt: moment,
      ms: whole,
      address: z.string(),
      timing: z
        .strictObject({
          dnsMs: whole.optional(),
          connectMs: whole.optional(),
          tlsMs: whole.optional(),
          firstByteMs: whole.optional(),
          totalMs: whole,
        })
        .optional(),
      protocol: z.string().optional(),
      tls: z.string().optional(),
      archive: z
        .strictObject({
          file: z.string(),
          offset: whole,
          length: whole,
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
      tolerated,
      unchanged: z.literal(true).optional().meta({ description: '304 to the validators of the candidate' }),
      to: z.string().optional().meta({ description: 'target of a redirect that was to be reported' }),
    }),
    outcome('redirected', { status: whole, to: z.string(), candidate: z.string(), tolerated }),
    outcome('disallowed', { rule: z.string(), line: whole, group: z.array(z.string()) }),
    outcome('failed', { reason: z.enum(FAILURE_REASONS), status: whole.optional(), detail: z.string(), tolerated }),
    outcome('expired', { reason: z.enum(GATES) }),
    outcome('invalid', { reason: z.enum(INVALID_REASONS), detail: z.string().optional() }),
    outcome('refused', { reason: z.enum(REFUSED_REASONS) }),
  ])
  .meta({ id: 'Outcome' })

/** Several outcomes in one answer. */
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
