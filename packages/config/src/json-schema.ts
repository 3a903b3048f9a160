/** The settings, agents, egress, pace groups and permit tokens as JSON Schema (2020-12), for editors; docs/schemas holds them as files. */
import { z } from 'zod'
import { AgentsFile } from './agents.ts'
import { EgressFile } from './egress.ts'
import { PaceGroupsFile } from './pace-groups.ts'
import { PermitTokensFile } from './permit-tokens.ts'
import { SETTINGS } from './settings.ts'
import { SitePoliciesFile } from './site-policies.ts'
import type { Setting } from './table/setting.ts'

type Json = Record<string, unknown>

const print = (schema: z.ZodType, title: string): Json => ({
  title,
  ...(z.toJSONSchema(schema, { io: 'input' }) as Json),
})

export const agentsJsonSchema = (): Json => print(AgentsFile, 'Agents of a Decorum fleet (DECORUM_AGENTS)')
export const egressJsonSchema = (): Json => print(EgressFile, 'How the requests of each agent leave a machine (EGRESS)')
export const paceGroupsJsonSchema = (): Json => print(PaceGroupsFile, 'Pace groups of a Decorum fleet (PACE_GROUPS)')
export const sitePoliciesJsonSchema = (): Json =>
  print(SitePoliciesFile, 'Policies of a Decorum fleet for sites (SITE_POLICIES)')
export const permitTokensJsonSchema = (): Json =>
  print(PermitTokensFile, 'Who may ask a Decorum fleet for permits (DECORUM_PERMIT_TOKENS)')

/** All settings as one object: numbers and lists have their JSON types, not the text of a variable. */
export function settingsJsonSchema(): Json {
  const properties = Object.fromEntries(
    (Object.entries(SETTINGS) as [string, Setting][]).map(([name, { schema, means }]) => {
      const { $schema: _, ...printed } = z.toJSONSchema(schema, { io: 'output' }) as Json
      return [name, { description: means, ...printed }]
    }),
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Settings of a Decorum fleet',
    type: 'object',
    properties,
    additionalProperties: false,
  }
}
