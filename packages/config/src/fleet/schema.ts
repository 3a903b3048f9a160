/** The fleet's document as JSON Schema (2020-12), for editors. */
import { agentsJsonSchema, paceGroupsJsonSchema, settingsJsonSchema, sitePoliciesJsonSchema } from '../json-schema.ts'
import { FLEET_SETTINGS } from './values.ts'

type Schema = Record<string, unknown>

export function fleetJsonSchema(): Schema {
  const { properties } = settingsJsonSchema() as { properties: Record<string, Schema> }
  const inline = ({ $schema: _, title: __, ...schema }: Schema): Schema => schema
  const list = (items: string): Schema => ({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: items } }] })
  const special: Record<string, Schema> = {
    DECORUM_AGENTS: inline(agentsJsonSchema()),
    PACE_GROUPS: inline(paceGroupsJsonSchema()),
    SITE_POLICIES: inline(sitePoliciesJsonSchema()),
    DECORUM_ALLOW_ADDRESSES: list('string'),
    DECORUM_ALLOW_PORTS: list('integer'),
  }
  const entries = FLEET_SETTINGS.map((name) => {
    const { description, ...plain } = properties[name] ?? {}
    return [name, { description, anyOf: [special[name] ?? plain, { type: 'null' }] }]
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: "A Decorum fleet's configuration (decorum config apply)",
    type: 'object',
    properties: Object.fromEntries(entries),
    additionalProperties: false,
  }
}
