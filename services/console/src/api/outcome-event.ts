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
import { instant, meta, named, optionalText, text, Why, whole } from './answers.ts'

/** Numbers are integers, and each key has one type, so that programs that read tables can infer the types from the first lines. */
const moment = whole.describe('ms since 1970 UTC')

const outcome = <K extends Outcome['kind'], T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.strictObject({
    id: text,
    url: text,
    agent: text,
    kind: z.literal(kind),
    at: moment,
    attempts: whole,
    crawl: optionalText.describe('absent: of the crawl `default`'),
    meta: meta.optional(),
    ...shape,
  })
const tolerated = z
  .array(z.enum(Object.keys(TOLERATED) as Tolerated[]))
  .optional()
  .describe('faults of the answer that were overlooked, as browsers do')

export const OutcomeEvent = z
  .discriminatedUnion('kind', [
    outcome('fetched', {
      status: whole,
      headers: z.array(z.tuple([text, text])),
      bytes: whole,
      decodedBytes: whole.optional(),
      truncated: z.enum(TRUNCATED).describe("why the body is not whole; '': it is"),
      digest: text,
      startedAt: moment,
      ms: whole,
      address: text,
      timing: z
        .strictObject({ dnsMs: whole, connectMs: whole, tlsMs: whole, firstByteMs: whole, totalMs: whole })
        .partial()
        .required({ totalMs: true })
        .optional(),
      protocol: optionalText,
      tls: optionalText,
      archive: z
        .strictObject({
          file: text,
          offset: whole,
          length: whole,
          ref: optionalText.describe('for GET /v1/content?ref='),
        })
        .optional(),
      says: z
        .strictObject({ robots: z.array(text), canonical: text, language: text, charset: text })
        .partial()
        .optional()
        .describe('what the site says about the page, in headers and in the head of HTML'),
      tolerated,
      unchanged: z.literal(true).optional().describe('304 to the validators of the candidate'),
      to: optionalText.describe('target of a redirect that was to be reported'),
    }),
    outcome('redirected', { status: whole, to: text, candidate: text, tolerated }),
    outcome('disallowed', { rule: text, line: whole, group: z.array(text) }),
    outcome('failed', { reason: z.enum(FAILURE_REASONS), status: whole.optional(), detail: text, tolerated }),
    outcome('expired', { reason: z.enum(GATES) }),
    outcome('invalid', { reason: z.enum(INVALID_REASONS), detail: optionalText }),
    outcome('refused', { reason: z.enum(REFUSED_REASONS) }),
  ])
  .meta({ id: 'Outcome' })

/** Several outcomes in one answer. */
export const OutcomesAnswer = z.strictObject({
  outcomes: z.array(z.strictObject({ id: text.describe('for POST /v1/outcomes/ack'), outcome: OutcomeEvent })),
})

export const CandidateAnswer = named('CandidateStatus', {
  state: z
    .enum(CANDIDATE_STATES)
    .describe(
      'not-taken-in: in a job that no gateway has read; reserved: its order is on its way to a fetcher; in-flight: at a ' +
        'fetcher; stored: in a lane, but where is not known',
    ),
  sentence: text,
  id: optionalText,
  url: optionalText,
  agent: optionalText,
  priority: z.enum(['high', 'normal']).optional(),
  expiresAt: instant.optional(),
  before: whole.optional().describe('URLs of its lane that come before it'),
  attempts: whole.optional(),
  why: Why.optional(),
  outcome: OutcomeEvent.optional(),
})
export const CancelledAnswer = z.strictObject({ outcome: OutcomeEvent })

type Keys<T> = T extends unknown ? keyof T : never
type Undescribed = Exclude<Keys<Outcome>, Keys<z.output<typeof OutcomeEvent>>>
/** Does not compile while an outcome has a field that the schema lacks, so that the API's description stays complete. */
type AllDescribed = [Undescribed] extends [never] ? true : Undescribed
true satisfies AllDescribed
