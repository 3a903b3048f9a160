/**
 * docs/settings.md and the JSON Schemas of docs/schemas, printed from the table of settings.
 *
 *   node test/config/settings-page.ts --write      writes them; without --write the page is printed
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  AUDIENCES,
  audienceOf,
  defaultOf,
  fileJsonSchema,
  SETTINGS,
  type Setting,
  type SettingName,
  settingsJsonSchema,
} from '@decorum/config'

const DOCS = join(import.meta.dirname, '../../docs')
const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`

const HEAD = `# Settings

Every setting is an environment variable, read once when a process starts. An empty variable counts as absent. If anything is
wrong, the process does not start; one message names each wrong value, each relation that does not hold and each misspelt name.

Most fleets set a few of the first group and none of the last. What is not here is a constant, with its reason beside it in the code.

This page is printed from the table in \`packages/config/src/table\`: \`node test/config/settings-page.ts --write\`. The same
as JSON Schema, for editors: [settings](schemas/settings.schema.json), [agents](schemas/agents.schema.json) (what DECORUM_AGENTS
holds), [egress](schemas/egress.schema.json), [pace groups](schemas/pace-groups.schema.json), [site policies](schemas/site-policies.schema.json), [permit tokens](schemas/permit-tokens.schema.json).

- **Read by**: the kinds of process that read it; *command* is the command line (\`up\`, \`crawl\`, \`check\` …).
- **Agreed by**: *fleet*: one value for all processes, kept in Redis ([configuration.md](configuration.md)); *process*:
  each has its own.
- **Change**: how a running fleet can take over another value. *live*: it concerns only what is decided from then on, so
  processes may be restarted one by one. *restart*: likewise, but each process has its old value until it is restarted.
  *identity*: processes that differ in it cannot share lanes, so stop all of them before it changes.

Relations: FETCH_DEADLINE_MS is less than LEASE_MS, because a fetch must end inside its lease. DEFAULT_DELAY_MS is at most
MAX_DELAY_MS. Beyond loopback (HOST) the console needs CONSOLE_PASSWORD, and permits need DECORUM_PERMIT_TOKENS;
these two are named once all else is right.
`

/** Settings whose value is a file, and what it holds. */
const FILES: Partial<Record<SettingName, [about: string, schema: object]>> = {
  DECORUM_AGENTS: ['A list; each entry has', fileJsonSchema('DECORUM_AGENTS')],
  PACE_GROUPS: ['An object with', fileJsonSchema('PACE_GROUPS')],
  SITE_POLICIES: ['An object: site → policy. A policy has', fileJsonSchema('SITE_POLICIES')],
  DECORUM_PERMIT_TOKENS: ['A list; each entry has', fileJsonSchema('DECORUM_PERMIT_TOKENS')],
  EGRESS: ['An object: name of an agent, or `*` → one of', fileJsonSchema('EGRESS')],
}

function section(audience: (typeof AUDIENCES)[number]): string {
  const settings = (Object.entries(SETTINGS) as [SettingName, Setting][]).filter(
    ([name]) => audienceOf(name) === audience,
  )
  return [`## ${audience}\n`, ...settings.map(([name, setting]) => entry(name, setting))].join('\n')
}

function entry(name: SettingName, setting: Setting): string {
  const { means, reason, roles, fleet, unit } = setting
  const given = defaultOf(setting)
  const value = given === undefined ? 'none' : `\`${given}\`${unit === undefined ? '' : ` ${unit}`}`
  const file = FILES[name]
  return [
    `### ${name}\n`,
    `${means}\n`,
    `- Default: ${value}. ${reason}`,
    `- Read by: ${roles.join(', ')} · agreed by: ${fleet === undefined ? 'process' : 'fleet'} · change: ${fleet ?? 'restart'}`,
    ...(file === undefined ? [] : ['', `${file[0]}:`, '', ...table(file[1])]),
    '',
  ].join('\n')
}

/** What of JSON Schema the files use. */
type Schema = {
  type?: string
  description?: string
  default?: unknown
  enum?: string[]
  minimum?: number
  maximum?: number
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | false
  anyOf?: Schema[]
}

function table(file: Schema): string[] {
  const entries = file.items ?? (file.additionalProperties || file)
  return ['| field | value | default | meaning |', '|---|---|---|---|', ...rows(entries)]
}

/** A row for each field, and behind it those of what it holds. */
function rows({ properties = {}, required = [] }: Schema, before = ''): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const isNeeded = required.includes(name)
    const given = isNeeded ? 'needed' : field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``
    const held = [field, field.items, ...(field.anyOf ?? [])].find((one) => one?.properties !== undefined)
    const own = `| \`${before}${name}\` | ${kindOf(field)} | ${given} | ${field.description ?? ''} |`
    return [own, ...(held === undefined ? [] : rows(held, `${before}${name}${field.items === undefined ? '' : '[]'}.`))]
  })
}

function kindOf({ type, enum: names, items, anyOf, minimum, maximum = Number.MAX_SAFE_INTEGER }: Schema): string {
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(', ')
  if (anyOf !== undefined) return anyOf.map(kindOf).join(', or ')
  if (items !== undefined) return items.type === 'object' ? 'list of objects' : 'list of texts'
  if (type === 'boolean') return 'true or false'
  if (type === 'string') return 'text'
  const range = maximum === Number.MAX_SAFE_INTEGER ? `at least ${minimum}` : `${minimum ?? 'above 0'} to ${maximum}`
  if (type === 'integer') return `whole number, ${range}`
  return type === 'number' ? `number, ${range.replace('above 0 to', 'above 0, at most')}` : 'object'
}

/** Path under docs → content. */
export const PAGES: Readonly<Record<string, string>> = {
  'settings.md': [HEAD, ...AUDIENCES.map(section)].join('\n'),
  'schemas/settings.schema.json': json(settingsJsonSchema()),
  'schemas/agents.schema.json': json(fileJsonSchema('DECORUM_AGENTS')),
  'schemas/egress.schema.json': json(fileJsonSchema('EGRESS')),
  'schemas/pace-groups.schema.json': json(fileJsonSchema('PACE_GROUPS')),
  'schemas/site-policies.schema.json': json(fileJsonSchema('SITE_POLICIES')),
  'schemas/permit-tokens.schema.json': json(fileJsonSchema('DECORUM_PERMIT_TOKENS')),
}
export const placeOf = (page: string): string => join(DOCS, page)

if (import.meta.main) {
  if (process.argv.includes('--write'))
    for (const [page, text] of Object.entries(PAGES)) {
      mkdirSync(dirname(placeOf(page)), { recursive: true })
      writeFileSync(placeOf(page), text)
    }
  else process.stdout.write(PAGES['settings.md'] ?? '')
}
