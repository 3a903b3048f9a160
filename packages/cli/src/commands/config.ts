/** `decorum config …`: shows, checks, changes and reverts the fleet's configuration. */
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { buffer } from 'node:stream/consumers'
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
import {
  connectForConfig,
  OvertakenError,
  readCurrent,
  readHistory,
  readLatest,
  type Version,
  write,
} from '@decorum/config/fleet-config'
import { type RedisLink, readTags } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { policySentence } from '@decorum/politeness'
import { printable, printableAll } from '@decorum/protocol'
import { stringify } from 'yaml'
import { whoAmI } from '../agreed-settings.ts'
import { readConfigFile } from '../config-file.ts'
import { duration } from '../crawl/status.ts'
import { CommandError, DONE, type ExitCode, FAILED, messageOf, UsageError } from '../exit.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { tell, tellJson, warn } from '../terminal.ts'

export type ConfigOptions = { json?: boolean }
export type ChangeOptions = ConfigOptions & { yes?: boolean; reason?: string; by?: string }

export async function configShow({ json }: ConfigOptions): Promise<ExitCode> {
  return withConfig<ExitCode>(async (redis) => {
    const current = await readCurrent(redis)
    if (current === undefined) {
      if (json) tellJson({ version: 0 })
      else tell('there is no configuration yet: the first process of the fleet writes it from its environment')
      return DONE
    }
    if (json) tellJson({ ...current, at: new Date(current.at).toISOString() })
    else tell(`# version ${current.version}, ${whoAndWhy(current)}\n${asYaml(current.values)}`)
    return DONE
  })
}

export async function configHistory({ json }: ConfigOptions): Promise<ExitCode> {
  return withConfig<ExitCode>(async (redis) => {
    const versions = await readHistory(redis)
    for (const [index, version] of versions.entries()) {
      const before = versions[index + 1]
      const changed = before === undefined ? [] : differences(before.values, version.values)
      if (json) tellJson({ ...version, at: new Date(version.at).toISOString(), changed })
      else tell([`version ${version.version}, ${whoAndWhy(version)}`, ...linesOf(changed)].join('\n'))
    }
    if (versions.length === 0 && !json) tell('there is no configuration yet')
    return DONE
  })
}

/** Prints every error of a file, and the changes it would make where a fleet is known; writes nothing. */
export async function configCheck(file: string, options: ConfigOptions): Promise<ExitCode> {
  const given = await readFileOf(file)
  const url = await runningRedis(readCliSettings(process.env), process.env).catch(() => undefined)
  const current = url === undefined ? undefined : await withConfig(readCurrent)
  const values = readDocument(given, current?.values)
  const changed = current === undefined ? [] : differences(current.values, values)
  if (options.json) tellJson({ ok: true, version: current?.version ?? null, changed })
  else if (current === undefined) tell(`${file} is well-formed; no fleet is running here to compare it with`)
  else tell([`${file} is well-formed; compared with version ${current.version}:`, ...linesOf(changed)].join('\n'))
  return DONE
}

export async function configApply(file: string, options: ChangeOptions): Promise<ExitCode> {
  const given = await readFileOf(file)
  return withConfig(async (redis, url) => {
    const current = await readLatest(redis)
    const values = readDocument(given, current?.values)
    return change(redis, url, current, values, options, { via: 'apply', reason: options.reason ?? '' })
  })
}

/** Applies the values of an earlier version as a new version: history is never rewritten. */
export async function configRollback(to: number | undefined, options: ChangeOptions): Promise<ExitCode> {
  return withConfig(async (redis, url) => {
    const current = await readLatest(redis)
    const versions = await readHistory(redis)
    const wanted =
      to === undefined
        ? versions.find(({ version }) => version < (current?.version ?? 0))
        : versions.find(({ version }) => version === to)
    if (wanted === undefined)
      throw new UsageError(
        to === undefined
          ? 'there is no earlier version to go back to'
          : `version ${to} is not kept; 'decorum config history' lists those that are`,
      )
    checkDocument(wanted.values)
    const reason = [`back to version ${wanted.version}`, options.reason].filter(Boolean).join(': ')
    return change(redis, url, current, wanted.values, options, { via: 'rollback', reason })
  })
}

/** With --json the policies of every version that is kept: input of `decorum audit --site-policies`. */
export async function configPolicies({ json }: ConfigOptions): Promise<ExitCode> {
  return withConfig<ExitCode>(async (redis) => {
    const versions = (await readHistory(redis)).map(({ version, at, by, reason, values }) => ({
      ...{ version, at, by, reason },
      policies: readSitePolicies(JSON.stringify(values.SITE_POLICIES ?? {})),
    }))
    if (json) tellJson({ versions })
    else {
      const lines = Object.entries(versions[0]?.policies ?? {}).map(([site, policy]) =>
        printable(policySentence({ site, ...policy }, duration)),
      )
      tell(lines.length === 0 ? 'there are no policies' : lines.join('\n'))
    }
    return DONE
  })
}

export function configSchema(): ExitCode {
  tellJson(fleetJsonSchema(), 2)
  return DONE
}

async function change(
  redis: RedisLink,
  url: string,
  current: Version | undefined,
  values: FleetValues,
  { json, yes, by = whoAmI() }: ChangeOptions,
  { via, reason }: Pick<Version, 'via' | 'reason'>,
): Promise<ExitCode> {
  const changed = differences(current?.values ?? {}, values)
  if (current !== undefined && changed.length === 0) {
    if (json) tellJson({ version: current.version, changed: [] })
    else tell(`nothing changes: version ${current.version} says the same`)
    return DONE
  }
  // no process uses a setting that is still undecided
  const identity = changed.filter(
    ({ change: needs, setting }) => needs === 'identity' && current?.values[setting] !== undefined,
  )
  const running = identity.length > 0 ? await membersOf(redis, url, current?.values ?? {}) : 0
  if (running > 0)
    throw new CommandError(
      `${identity.map(({ path }) => path).join(', ')}: processes that differ in this cannot share lanes, and ${running} are running: stop the gateways and fetchers, apply this, and start them again`,
    )
  if (current !== undefined && !json) warn(linesOf(changed).join('\n'))
  if (!yes && !(await isWanted(json))) {
    warn('nothing was changed')
    return FAILED
  }
  const written = await write(redis, current?.version ?? 0, { values, by, reason, via }).catch((error: unknown) => {
    throw error instanceof OvertakenError ? new CommandError(error.message) : error
  })
  const waits = changed.filter((one) => one.change === 'restart' && current !== undefined)
  if (json) tellJson({ version: written.version, changed })
  else {
    tell(`version ${written.version} is in force; running processes follow within a second`)
    if (waits.length > 0)
      tell(`these wait until each process is started again: ${waits.map(({ path }) => path).join(', ')}`)
  }
  return DONE
}

/** Asks on a terminal; elsewhere --yes must be given beforehand. */
async function isWanted(json: boolean | undefined): Promise<boolean> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError('there is no terminal to confirm the change on: --yes applies it')
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await asking.question('Apply this? [y/N] ')).trim())
  } finally {
    asking.close()
  }
}

/** @throws UsageError when it cannot be read · SettingsError naming what is wrong in it */
async function readFileOf(file: string): Promise<unknown> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: unknown) => {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`)
  })
  return readConfigFile(file, bytes)
}

async function withConfig<T>(work: (redis: RedisLink, url: string) => Promise<T>): Promise<T> {
  const url = await runningRedis(readCliSettings(process.env), process.env)
  const redis = await connectForConfig(url)
  try {
    return await work(redis, url)
  } finally {
    redis.disconnect()
  }
}

/** Counts the gateways and fetchers that run now. */
async function membersOf(redis: RedisLink, url: string, values: FleetValues): Promise<number> {
  const { tags } = await readTags(redis)
  if (tags.length === 0) return 0
  const times = { leaseMs: Number(values.LEASE_MS), quarantineMs: Number(values.QUARANTINE_MS) }
  const ledger = await openLedgerWithViews({ redis: url, partitions: tags.length, ...times })
  try {
    return (await ledger.members()).filter(({ role }) => role !== 'console').length
  } finally {
    await ledger.close()
  }
}

/** The configuration as a file for `apply`: all settings in the order of the table. */
const asYaml = (values: FleetValues): string =>
  stringify(
    Object.fromEntries(FLEET_SETTINGS.filter((name) => values[name] !== undefined).map((name) => [name, values[name]])),
  ).trimEnd()

const linesOf = (changed: Difference[]): string[] =>
  changed.length === 0 ? ['  nothing changes'] : changed.map((one) => `  ${printable(differenceLine(one))}`)

function whoAndWhy(version: Version): string {
  const { by, reason } = printableAll({ by: version.by, reason: version.reason })
  return `${new Date(version.at).toISOString()}, by ${by}${reason === '' ? '' : `: ${reason}`}`
}
