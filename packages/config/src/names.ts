/** Checks names of variables: misspelt settings are refused, all other names are ignored. */
import { nearestName } from '@decorum/protocol'
import { isSetting, SETTINGS, type SettingName } from './settings.ts'

type Env = Record<string, string | undefined>

/** Variables of this project that are not settings: for its tests, benches and launcher. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  'DECORUM_BUNDLE', // packages/runtime/src/bundled.ts
  'DECORUM_CRAWLS', // set by `decorum up` and `decorum crawl` for their processes: packages/config/src/inherited.ts
  'DECORUM_CRASH_AT', // crash points: packages/runtime/src/crash-point.ts
  'DECORUM_FREEZE_AT',
  'DECORUM_LAUNCHER', // set by scripts/with-launcher.mjs: the command with which the user calls us
  'DECORUM_PATH',
  'DECORUM_POINT', // a sweep of crash points; DECORUM_SEED, _STEPS and _TRACE: random tests
  'DECORUM_REQUIRE_SERVERS',
  'DECORUM_SEED',
  'DECORUM_STEPS',
  'DECORUM_TEST_COUNTS',
  'DECORUM_TRACE',
])

/** Variables that Kubernetes and Docker set for a service that is called decorum, or decorum-redis. */
const OF_A_SERVICE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/

/** Names from earlier versions, and their replacements. If they were ignored, another value than intended would apply. */
const FORMER: ReadonlyMap<string, string> = new Map([
  ['DEFAULT_GAP_MS', 'did you mean DEFAULT_DELAY_MS?'],
  ['MAX_GAP_MS', 'did you mean MAX_DELAY_MS?'],
  ['HONOUR_NOARCHIVE', 'an agent of DECORUM_AGENTS has honourNoarchive'],
  ['S3_PREFIX', 'S3_BUCKET holds it after a slash'],
  ['S3_REGION', 'S3_ENDPOINT holds it after ?region='],
  ['S3_SPOOL_MAX_BYTES', 'ARCHIVE_MAX_BYTES bounds the folder'],
  ['FORGET_READERS_AFTER_MS', "'decorum outcomes --forget --group NAME' forgets a reader"],
  ['S3_FILE_MAX_BYTES', 'it is always 64 MB, or a tenth of ARCHIVE_MAX_BYTES'],
  ['PROXY_TUNNEL_IDLE_MS', 'it is always 2 s'],
  ['PERMITS_MAX_WAITING', 'it is always 25,000'],
  ['INTAKE_CONCURRENCY', 'it is always 4'],
  ['CONSOLE_USER', 'the name is always decorum'],
  ['CONSOLE_READ_USER', 'the name is always reader'],
  ['CONSOLE_SESSION_MS', 'it is always 12 hours'],
  ['HEARTBEAT_MS', 'it is always 15 s'],
  ['REQUEST_DEADLINE_MS', 'it is always 60 s'],
  ['ROBOTS_DOMAIN_MAX_BYTES', 'it is always 8 MiB'],
  ['ROBOTS_BODIES_MAX_BYTES', 'it is always 512 MiB'],
])

/** Former settings that a stored document may still hold, each with the value that had no effect. */
const OF_DOCUMENTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['S3_PREFIX', null],
  ['S3_REGION', 'us-east-1'],
  ['HONOUR_NOARCHIVE', 'no'],
  ['FORGET_READERS_AFTER_MS', 0],
])

/** One sentence for each value of a stored document that no longer counts. */
export function formerInDocument(document: Readonly<Record<string, unknown>>, version: number): string[] {
  return [...OF_DOCUMENTS].flatMap(([name, nothing]) =>
    document[name] === undefined || document[name] === nothing
      ? []
      : [
          `${name}: the fleet's configuration (version ${version}) has it, and there is no such setting; ${FORMER.get(name)}: write the configuration anew with 'decorum config apply'`,
        ],
  )
}

/** Shorter names are too likely to be unrelated: HOSTNAME is no misspelt HOST. */
const SHORTEST_JUDGED = 8
const names = Object.keys(SETTINGS) as SettingName[]
const judged = names.filter((name) => name.length >= SHORTEST_JUDGED)
const UNIT = /_(MS|S|SECS?|SECONDS|MINS?|MINUTES|BYTES|KB|KIB|MB|MIB)$/
/** The part of a name without its unit. */
const stemOf = (name: string): string => name.toUpperCase().replace(UNIT, '')

/** Variables that look like misspelt settings, each with a sentence. */
export function misspelt(env: Env): string[] {
  return Object.keys(env).flatMap((name) => {
    if (isSetting(name) || NOT_SETTINGS.has(name)) return []
    const instead = FORMER.get(name)
    if (instead !== undefined) return [`${name}: there is no such setting; ${instead}`]
    const meant = settingMeantBy(name, env[name] ?? '')
    if (meant === undefined) return []
    return [`${name}: there is no such setting${meant === '' ? '' : `; did you mean ${meant}?`}`]
  })
}

/** @returns '' when the name has our prefix but resembles no setting; undefined when it is unrelated */
function settingMeantBy(name: string, value: string): SettingName | '' | undefined {
  if (/^DECORUM_/i.test(name)) {
    if (OF_A_SERVICE.test(name) || /^(tcp|udp|sctp):\/\//.test(value)) return undefined
    const bare = name.slice('DECORUM_'.length).toUpperCase()
    return names.find((one) => one === bare) ?? nearby(name) ?? nearby(bare) ?? ''
  }
  return nearby(name)
}

function nearby(name: string): SettingName | undefined {
  const stem = stemOf(name)
  const otherUnit = judged.find((one) => SETTINGS_WITH_UNIT.has(one) && stemOf(one) === stem)
  return otherUnit ?? nearestName(name, judged)
}
const SETTINGS_WITH_UNIT: ReadonlySet<string> = new Set(judged.filter((name) => UNIT.test(name)))
