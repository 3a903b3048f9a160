/** The settings as JSON Schema (2020-12), for editors; docs/schemas holds them as files. */
import { z } from 'zod'
import { AgentsFile } from './agents.ts'
import { EgressFile } from './egress.ts'
import { PaceGroupsFile } from './pace-groups.ts'
import { PermitTokensFile } from './permit-tokens.ts'
import { SETTINGS } from './settings.ts'
import { SitePoliciesFile } from './site-policies.ts'
import type { Setting } from './table/setting.ts'

export type JsonSchema = Record<string, unknown>

/** Settings that are too large for a line. */
const FILES = {
  DECORUM_AGENTS: { schema: AgentsFile, title: 'Agents of a Decorum fleet' },
  EGRESS: { schema: EgressFile, title: 'How the requests of each agent leave a machine' },
  PACE_GROUPS: { schema: PaceGroupsFile, title: 'Pace groups of a Decorum fleet' },
  SITE_POLICIES: { schema: SitePoliciesFile, title: 'Policies of a Decorum fleet for sites' },
  DECORUM_PERMIT_TOKENS: { schema: PermitTokensFile, title: 'Who may ask a Decorum fleet for permits' },
}

/** The JSON Schema of a setting that is too large for a line. */
export function fileJsonSchema(name: keyof typeof FILES): JsonSchema {
  const { schema, title } = FILES[name]
  return { title: `${title} (${name})`, ...z.toJSONSchema(schema, { io: 'input' }) }
}

/** All settings as one object: numbers and lists have their JSON types, not the text of a variable. */
export function settingsJsonSchema(): JsonSchema {
  const properties = Object.entries(SETTINGS as Record<string, Setting>).map(([name, { schema, means }]) => {
    const { $schema: _, ...printed } = z.toJSONSchema(schema, { io: 'output' })
    return [name, { description: means, ...printed }]
  })
  return objectSchema('Settings of a Decorum fleet', Object.fromEntries(properties))
}

export const objectSchema = (title: string, properties: JsonSchema): JsonSchema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title,
  type: 'object',
  properties,
  additionalProperties: false,
})
