/**
 * docs/settings.md and the JSON Schemas of docs/schemas, printed from the table of settings.
 *
 *   node test/config/settings-page.ts --write      writes them; without --write the page is printed
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  agentsJsonSchema,
  defaultOf,
  egressJsonSchema,
  paceGroupsJsonSchema,
  permitTokensJsonSchema,
  type Setting,
  settingsJsonSchema,
  sitePoliciesJsonSchema,
  TABLE,
} from '@decorum/config'

const DOCS = join(import.meta.dirname, '../../docs')
const json = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`

const HEAD = `# Settings

Every setting is an environment variable, read once when a process starts. An empty variable counts as absent. If anything is
wrong, the process does not start; one message names each wrong value, each relation that does not hold and each misspelt name.

This page is printed from the table in \`packages/config/src/table\`: \`node test/config/settings-page.ts --write\`. The same
settings as JSON Schema: [settings](schemas/settings.schema.json), [agents](schemas/agents.schema.json) (what DECORUM_AGENTS
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

function section([title, settings]: [string, Readonly<Record<string, Setting>>]): string {
  const entries = Object.entries(settings).map(([name, setting]) => entry(name, setting))
  return [`## ${title}\n`, ...entries].join('\n')
}

function entry(name: string, setting: Setting): string {
  const { means, reason, roles, scope, change, unit, schema } = setting
  const given = defaultOf(setting)
  const value =
    given !== undefined
      ? `\`${given}\`${unit === undefined ? '' : ` ${unit}`}`
      : schema.safeParse(undefined).success
        ? 'none'
        : 'none, it is required'
  return [
    `### ${name}\n`,
    `${means}\n`,
    `- Default: ${value}. ${reason}`,
    `- Read by: ${roles.join(', ')} · agreed by: ${scope} · change: ${change}`,
    '',
  ].join('\n')
}

/** Path under docs → content. */
export const PAGES: Readonly<Record<string, string>> = {
  'settings.md': [HEAD, ...Object.entries(TABLE).map(section)].join('\n'),
  'schemas/settings.schema.json': json(settingsJsonSchema()),
  'schemas/agents.schema.json': json(agentsJsonSchema()),
  'schemas/egress.schema.json': json(egressJsonSchema()),
  'schemas/pace-groups.schema.json': json(paceGroupsJsonSchema()),
  'schemas/site-policies.schema.json': json(sitePoliciesJsonSchema()),
  'schemas/permit-tokens.schema.json': json(permitTokensJsonSchema()),
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
