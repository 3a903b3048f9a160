/** An outcome as OpenAPI describes it: `data:` of an event `outcome` (docs/spec/design.md §5). */
import { FAILURE_REASONS, GATES, INVALID_REASONS, type Outcome, REFUSED_REASONS } from '@decorum/protocol'
import { z } from 'zod'
import { instant, meta } from './answers.ts'

const outcome = <K extends Outcome['kind'], T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.strictObject({
    id: z.string(),
    url: z.string(),
    agent: z.string(),
    kind: z.literal(kind),
    at: instant,
    attempts: z.number().int(),
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
      truncated: z.union([z.literal(false), z.enum(['length', 'time', 'disconnect'])]),
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
      archive: z.strictObject({ file: z.string(), offset: z.number().int(), length: z.number().int() }).optional(),
    }),
    outcome('redirected', { status: z.number().int(), to: z.string(), candidate: z.string() }),
    outcome('disallowed', { rule: z.string(), line: z.number().int(), group: z.array(z.string()) }),
    outcome('failed', { reason: z.enum(FAILURE_REASONS), status: z.number().int().optional(), detail: z.string() }),
    outcome('expired', { reason: z.enum(GATES) }),
    outcome('invalid', { reason: z.enum(INVALID_REASONS), detail: z.string().optional() }),
    outcome('refused', { reason: z.enum(REFUSED_REASONS) }),
  ])
  .meta({ id: 'Outcome' })

type Keys<T> = T extends unknown ? keyof T : never
type Untold = Exclude<Keys<Outcome>, Keys<z.output<typeof OutcomeEvent>>>
/** Does not compile while an outcome has a field that the schema does not tell: the API's description must not fall behind. */
type AllIsTold = [Untold] extends [never] ? true : Untold
true satisfies AllIsTold
