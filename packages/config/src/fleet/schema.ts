/** The fleet's document as JSON Schema (2020-12), for editors. */
import { fileJsonSchema, type JsonSchema, objectSchema, settingsJsonSchema } from '../json-schema.ts'
import { FLEET_SETTINGS } from './values.ts'

export function fleetJsonSchema(): JsonSchema {
  const { properties } = settingsJsonSchema() as { properties: Record<string, JsonSchema> }
  const inline = ({ $schema: _, title: __, ...schema }: JsonSchema): JsonSchema => schema
  const list = (items: string): JsonSchema => ({
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: items } }],
  })
  const special: Record<string, JsonSchema> = {
    DECORUM_AGENTS: inline(fileJsonSchema('DECORUM_AGENTS')),
    PACE_GROUPS: inline(fileJsonSchema('PACE_GROUPS')),
    SITE_POLICIES: inline(fileJsonSchema('SITE_POLICIES')),
    DECORUM_ALLOW_ADDRESSES: list('string'),
    DECORUM_ALLOW_PORTS: list('integer'),
  }
  const entries = FLEET_SETTINGS.map((name) => {
    const { description, ...plain } = properties[name] ?? {}
    return [name, { description, anyOf: [special[name] ?? plain, { type: 'null' }] }]
  })
  return objectSchema("A Decorum fleet's configuration (decorum config apply)", Object.fromEntries(entries))
}
