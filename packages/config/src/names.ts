/** Names of variables: misspelt ones are refused, all others that are no settings are ignored. */
import { nearestName } from '@decorum/protocol'
import { isSetting, SETTINGS, type SettingName } from './settings.ts'

type Env = Record<string, string | undefined>

/** Variables of this project that are not settings: of its tests, benches and launcher. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  'DECORUM_BUNDLE', // packages/runtime/src/bundled.ts
  'DECORUM_CRASH_AT', // crash points: packages/runtime/src/crash-point.ts
  'DECORUM_FREEZE_AT',
  'DECORUM_LAUNCHER', // set by scripts/with-launcher.mjs: how the user calls us
  'DECORUM_PATH',
  'DECORUM_POINT', // a sweep of crash points; DECORUM_SEED, _STEPS and _TRACE: random tests
  'DECORUM_REQUIRE_SERVERS',
  'DECORUM_SEED',
  'DECORUM_STEPS',
  'DECORUM_TEST_COUNTS',
  'DECORUM_TRACE',
])

/** What Kubernetes and Docker set for a service that is called decorum, or decorum-redis. */
const OF_A_SERVICE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/

/** Names of 0.1 that are far from their present ones. Ignored, they would leave a delay shorter than was meant. */
const OF_0_1: ReadonlyMap<string, SettingName> = new Map([
  ['DEFAULT_GAP_MS', 'DEFAULT_DELAY_MS'],
  ['MAX_GAP_MS', 'MAX_DELAY_MS'],
])

/** Shorter names are too likely to be something else: HOSTNAME is no misspelt HOST. */
const SHORTEST_JUDGED = 8
const names = Object.keys(SETTINGS) as SettingName[]
const judged = names.filter((name) => name.length >= SHORTEST_JUDGED)
const UNIT = /_(MS|S|SECS?|SECONDS|MINS?|MINUTES|BYTES|KB|KIB|MB|MIB)$/
/** What stays the same when the unit is left out or another one is written. */
const stemOf = (name: string): string => name.toUpperCase().replace(UNIT, '')

/** Variables that are no settings and look as if one had been meant, each with a sentence. */
export function misspelt(env: Env): string[] {
  return Object.keys(env).flatMap((name) => {
    if (isSetting(name) || NOT_SETTINGS.has(name)) return []
    const meant = settingMeantBy(name, env[name] ?? '')
    if (meant === undefined) return []
    return [`${name}: there is no such setting${meant === '' ? '' : `; did you mean ${meant}?`}`]
  })
}

/** @returns '' when the name is of ours and near to none; undefined when it is something else */
function settingMeantBy(name: string, value: string): SettingName | '' | undefined {
  if (/^DECORUM_/i.test(name)) {
    if (OF_A_SERVICE.test(name) || /^(tcp|udp|sctp):\/\//.test(value)) return undefined
    const bare = name.slice('DECORUM_'.length).toUpperCase()
    return names.find((one) => one === bare) ?? nearby(name) ?? nearby(bare) ?? ''
  }
  return OF_0_1.get(name) ?? nearby(name)
}

function nearby(name: string): SettingName | undefined {
  const stem = stemOf(name)
  const otherUnit = judged.find((one) => SETTINGS_WITH_UNIT.has(one) && stemOf(one) === stem)
  return otherUnit ?? nearestName(name, judged)
}
const SETTINGS_WITH_UNIT: ReadonlySet<string> = new Set(judged.filter((name) => UNIT.test(name)))
