/** The shape of `--json`, as JSON Schema 2020-12. report.ts is the same for TypeScript. */
import { OFFENCE_NAMES } from './offences.ts'

type Schema = { [key: string]: unknown }

const text: Schema = { type: 'string' }
const whole: Schema = { type: 'integer', minimum: 0 }
const number: Schema = { type: 'number' }
const listOf = (items: Schema): Schema => ({ type: 'array', items })
const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })
const offence: Schema = { enum: OFFENCE_NAMES }
const perOffence = (required: readonly string[]): Schema => ({
  type: 'object',
  properties: Object.fromEntries(OFFENCE_NAMES.map((name) => [name, whole])),
  required,
  additionalProperties: false,
})

/** Schema of an object that always has `properties`, may have `optional`, and has no others. */
function object(properties: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

const logLine = object({ file: text, line: whole }, { text })
const violation = object(
  { offence, agent: text, origin: text, path: text, at: number, because: text, line: logLine },
  { after: logLine },
)
const lane = object(
  {
    agent: text,
    origin: text,
    requests: whole,
    robots: whole,
    delayMs: object({ least: number, most: number }),
    cut: whole,
    offences: perOffence([]),
  },
  { smallestSlackMs: number },
)
const agent = object(
  { agent: text, requests: whole, origins: whole, robots: whole, violations: whole },
  { smallestSlackMs: number },
)
const rules = object({
  origin: text,
  at: number,
  lines: listOf(text),
  linesLeftOut: whole,
  broken: listOf(object({ line: whole, times: whole })),
})
const timeline = object({
  agent: text,
  origin: text,
  from: number,
  to: number,
  exchanges: listOf(object({ start: number, end: number, path: text, status: whole, offences: listOf(offence) })),
  buckets: listOf(object({ requests: whole, violations: whole })),
})

export const reportSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Report of decorum audit',
  ...object(
    {
      version: { const: 1 },
      verdict: { enum: ['clean', 'violations', 'partly-judged'] },
      requests: whole,
      leftOut: whole,
      unjudged: whole,
      unjudgedBecause: object({ noRules: whole, clock: whole }),
      setAside: object({
        lines: whole,
        byReason: mapOf(whole),
        examples: listOf(object({ file: text, line: whole, why: text, text })),
      }),
      noRequest: whole,
      logs: listOf(object({ file: text, format: text, requests: whole, notes: listOf(text) })),
      agents: listOf(agent),
      origins: whole,
      from: number,
      to: number,
      spanMs: number,
      robotsFetches: object({ all: whole, most: whole }, { mostAt: text }),
      hops: object({ requests: whole, elsewhere: whole }),
      statuses: mapOf(whole),
      tolerance: object({ delayMs: number, afterCutMs: number, ruleChangeMs: number }),
      violations: perOffence(OFFENCE_NAMES),
      total: whole,
      examples: listOf(violation),
      worst: { ...listOf(violation), maxItems: 5 },
      lanes: listOf(lane),
      lanesLeftOut: whole,
      rules: listOf(rules),
    },
    {
      paceGroups: whole,
      stops: whole,
      sitePolicies: { const: true },
      smallestSlackMs: number,
      timelines: listOf(timeline),
    },
  ),
}
