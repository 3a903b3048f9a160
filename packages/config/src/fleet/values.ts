/** The settings that a fleet shares, as values of the document in Redis, and as text of variables. */
import { z } from 'zod'
import { agentEntries } from '../agents.ts'
import { entriesOf } from '../allow-lists.ts'
import { readPaceGroups } from '../pace-groups.ts'
import { SETTINGS, type SettingName, settingsOf } from '../settings.ts'
import { readSitePolicies } from '../site-policies.ts'
import { defaultOf, type Role, type Setting } from '../table/setting.ts'
import { wrongValues } from '../wrong-value.ts'

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | { [member: string]: Json }
/** Setting → value. null: decided, without a value. An absent setting is not yet decided. */
export type FleetValues = { [N in SettingName]?: Json }

/** The number of partitions is in a separate list: `decorum ledger partitions` changes it. */
const ELSEWHERE: ReadonlySet<SettingName> = new Set(['DECORUM_PARTITIONS'])
const isOfFleet = (name: SettingName): boolean => 'fleet' in SETTINGS[name] && !ELSEWHERE.has(name)

/** Every setting that the document may hold, in the order of the table. */
export const FLEET_SETTINGS = (Object.keys(SETTINGS) as SettingName[]).filter(isOfFleet)
/** The settings of the fleet that a role reads. */
export const fleetSettingsOf = (role: Role): SettingName[] =>
  settingsOf(role)
    .map(([name]) => name)
    .filter(isOfFleet)

/** Settings that hold an object, with the function that parses their text. */
const OBJECTS: ReadonlyMap<SettingName, (text: string) => unknown> = new Map<SettingName, (text: string) => unknown>([
  ['PACE_GROUPS', readPaceGroups],
  ['SITE_POLICIES', readSitePolicies],
])
const LISTS: ReadonlySet<SettingName> = new Set(['DECORUM_ALLOW_ADDRESSES', 'DECORUM_ALLOW_PORTS'])

/**
 * Converts the text of a variable to its canonical value, so that two processes can compare it.
 * @throws Error with a message for people, which begins with the name
 */
export function readValue(name: SettingName, text: string): Json {
  if (name === 'DECORUM_AGENTS') return agentEntries(text) as Json
  const readObject = OBJECTS.get(name)
  if (readObject !== undefined) return readObject(text) as Json
  const { schema } = SETTINGS[name] as Setting
  const parsed = z.object({ [name]: schema as z.ZodType<Json> }).safeParse({ [name]: text })
  if (!parsed.success) throw new Error(wrongValues(parsed.error, { [name]: text }).join('\n  '))
  const value = parsed.data[name]
  return LISTS.has(name) ? entriesOf(text).join(',') : (value ?? null)
}

/** The text of the variable; '' when there is none. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The value that applies when none is given. */
export function defaultValueOf(name: SettingName): Json {
  if (OBJECTS.has(name)) return readValue(name, '{}')
  const text = defaultOf(SETTINGS[name])
  return text === undefined ? null : readValue(name, text)
}

/** Checks a JSON value. A list may be an array; null and '' mean the default. @throws Error as `readValue` does */
export function readJsonValue(name: SettingName, json: unknown): Json {
  if (json === null || json === '') return defaultValueOf(name)
  const isObject = OBJECTS.has(name)
  if (name === 'DECORUM_AGENTS' || isObject) {
    const isList = Array.isArray(json)
    const shown = typeof json !== 'object' ? JSON.stringify(json) : isList ? 'a list' : 'an object'
    if (typeof json !== 'object' || isList === isObject)
      throw new Error(`${name}: ${isObject ? 'an object' : 'a list of agents'} is needed, not ${shown}`)
    return readValue(name, JSON.stringify(json))
  }
  if (Array.isArray(json) && LISTS.has(name))
    return json.length === 0 ? null : readValue(name, json.map(String).join(','))
  if (typeof json !== 'string' && typeof json !== 'number')
    throw new Error(`${name}: a number or a text is needed, not ${JSON.stringify(json)}`)
  return readValue(name, String(json))
}
