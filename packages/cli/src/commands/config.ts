/** `decorum config …`: shows, checks, changes and reverts the fleet's configuration. */
import { createInterface } from 'node:readline/promises'
import {
  checkDocument,
  type Difference,
  differenceLine,
  differences,
  FLEET_SETTINGS,
  type FleetValues,
  fleetJsonSchema,
  readDocument,
  readSitePolicies,
} from '@decorum/config'
import { readCurrent, readHistory, readLatest, type Version, write } from '@decorum/config/fleet-config'
import { length } from '@decorum/console/words'
import { type RedisLink, readTags } from '@decorum/ledger'
import { policySentence } from '@decorum/politeness'
import { printable, printableAll } from '@decorum/protocol'
import { stringify } from 'yaml'
import { readConfigFile } from '../config-file.ts'
import { CommandError, DONE, type ExitCode, FAILED, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { bytesOf } from '../lines.ts'
import { knownRedis } from '../running-redis.ts'
import { printJson, printResult, printText, warn } from '../terminal.ts'
import { type Accountable, recorded } from '../who.ts'
import { withRedis } from '../with-redis.ts'

export type ConfigOptions = { json?: boolean }
export type ChangeOptions = ConfigOptions & Accountable & { yes?: boolean }

export function configShow({ json }: ConfigOptions): Promise<void> {
  return withRedis(async (redis) => {
    const current = await readCurrent(redis)
    if (current === undefined) printResult(json, { version: 0 }, NONE_YET)
    else printResult(json, dated(current), `# ${headOf(current)}\n${asYaml(current.values)}`)
  })
}

const NONE_YET = 'there is no configuration yet: the first process of the fleet writes it from its environment'

export function configHistory({ json }: ConfigOptions): Promise<void> {
  return withRedis(async (redis) => {
    const versions = await readHistory(redis)
    for (const [index, version] of versions.entries()) {
      const before = versions[index + 1]
      const changed = before === undefined ? [] : differences(before.values, version.values)
      printResult(json, { ...dated(version), changed }, [headOf(version), ...linesOf(changed)].join('\n'))
    }
    if (versions.length === 0 && !json) printText(NONE_YET)
  })
}

/** Prints every error of a file, and the changes it would make if a fleet is known; writes nothing. */
export async function configCheck(file: string, options: ConfigOptions): Promise<void> {
  const given = await readFileOf(file)
  const url = await knownRedis(process.env)
  const current = url === undefined ? undefined : await withRedis(readCurrent, url)
  const values = readDocument(given, current?.values)
  const changed = current === undefined ? [] : differences(current.values, values)
  const lines =
    current === undefined
      ? [`${file} is well-formed; no fleet is running here to compare it with`]
      : [`${file} is well-formed; compared with version ${current.version}:`, ...linesOf(changed)]
  printResult(options.json, { ok: true, version: current?.version ?? null, changed }, lines.join('\n'))
}

export async function configApply(file: string, options: ChangeOptions): Promise<ExitCode> {
  const given = await readFileOf(file)
  return withRedis(async (redis) => {
    const current = await readLatest(redis)
    const values = readDocument(given, current?.values)
    return change(redis, current, values, options, { via: 'apply', ...recorded(options) })
  })
}

/** Applies the values of an earlier version as a new version: history is never rewritten. */
export async function configRollback(to: number | undefined, options: ChangeOptions): Promise<ExitCode> {
  return withRedis(async (redis) => {
    const current = await readLatest(redis)
    const versions = await readHistory(redis)
    const wanted = versions.find(({ version }) =>
      to === undefined ? version < (current?.version ?? 0) : version === to,
    )
    if (wanted === undefined) {
      const which = to === undefined ? 'no earlier version' : `version ${to} is not kept`
      throw new UsageError(`${which}: 'decorum config history' lists those that there are`)
    }
    checkDocument(wanted.values)
    const { by, reason } = recorded(options)
    const why = [`back to version ${wanted.version}`, reason].filter(Boolean).join(': ')
    return change(redis, current, wanted.values, options, { via: 'rollback', by, reason: why })
  })
}

/** Prints the policies in force; with --json, those of every kept version, as input of `decorum audit --site-policies`. */
export function configPolicies({ json }: ConfigOptions): Promise<void> {
  return withRedis(async (redis) => {
    const versions = (await readHistory(redis)).map(({ version, at, by, reason, values }) => ({
      ...{ version, at, by, reason },
      policies: readSitePolicies(JSON.stringify(values.SITE_POLICIES ?? {})),
    }))
    const lines = Object.entries(versions[0]?.policies ?? {}).map(([site, policy]) =>
      printable(policySentence({ site, ...policy }, length)),
    )
    printResult(json, { versions }, lines.join('\n') || 'there are no policies')
  })
}

export const configSchema = (): void => printJson(fleetJsonSchema(), 2)

async function change(
  redis: RedisLink,
  current: Version | undefined,
  values: FleetValues,
  { json, yes }: ChangeOptions,
  origin: Pick<Version, 'via' | 'by' | 'reason'>,
): Promise<ExitCode> {
  const changed = differences(current?.values ?? {}, values)
  if (current !== undefined && changed.length === 0) {
    const { version } = current
    printResult(json, { version, changed: [] }, `nothing changes: version ${version} says the same`)
    return DONE
  }
  // a setting without a value can be set while processes run: none of them uses it yet
  const identity = changed.filter(
    ({ change: needs, setting }) => needs === 'identity' && current?.values[setting] !== undefined,
  )
  const running = identity.length > 0 ? await membersOf(redis) : 0
  if (running > 0)
    throw new CommandError(
      `${identity.map(({ path }) => path).join(', ')}: processes that differ in this cannot share lanes, and ${running} are running: stop all processes but consoles, apply this, and start them again`,
    )
  if (current !== undefined && !json) warn(linesOf(changed).join('\n'))
  if (!yes && !(await isWanted(json))) {
    warn('nothing was changed')
    return FAILED
  }
  const written = await write(redis, current?.version ?? 0, { values, ...origin })
  const waits = changed.filter((one) => one.change === 'restart' && current !== undefined)
  const lines = [`version ${written.version} is in force; running processes follow within a second`]
  if (waits.length > 0)
    lines.push(`these settings apply when each process is restarted: ${waits.map(({ path }) => path).join(', ')}`)
  printResult(json, { version: written.version, changed }, lines.join('\n'))
  return DONE
}

/** Asks on a terminal whether to apply the change. @throws UsageError where --yes is needed: without a terminal, or with --json */
async function isWanted(json: boolean | undefined): Promise<boolean> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError('there is no terminal to confirm the change on: --yes applies it')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await prompt.question('Apply this? [y/N] ')).trim())
  } finally {
    prompt.close()
  }
}

/** @throws UsageError when it cannot be read · SettingsError naming what is wrong in it */
const readFileOf = async (file: string): Promise<unknown> => readConfigFile(file, await bytesOf(file))

/** Number of processes that run now, without consoles. */
async function membersOf(redis: RedisLink): Promise<number> {
  const { tags } = await readTags(redis)
  if (tags.length === 0) return 0
  return withFleetLedger(async ({ ledger }) => (await ledger.members()).filter(({ role }) => role !== 'console').length)
}

/** The configuration as a file for `apply`: all settings in the order of FLEET_SETTINGS. */
const asYaml = (values: FleetValues): string =>
  stringify(
    Object.fromEntries(FLEET_SETTINGS.filter((name) => values[name] !== undefined).map((name) => [name, values[name]])),
  ).trimEnd()

const linesOf = (changed: Difference[]): string[] =>
  changed.length === 0 ? ['  nothing changes'] : changed.map((one) => `  ${printable(differenceLine(one))}`)

const dated = (version: Version) => ({ ...version, at: new Date(version.at).toISOString() })

/** A line with number, time, author and reason of a version. */
function headOf(one: Version): string {
  const { version, at } = dated(one)
  const { by, reason } = printableAll({ by: one.by, reason: one.reason })
  return `version ${version}, ${at}, by ${by}${reason === '' ? '' : `: ${reason}`}`
}
