/**
 * All settings of all roles in one table. It is the source of each role's settings, docs/settings.md, the lists in `--help` and the JSON
 * Schema of the settings. A new setting is one entry here.
 */
import { z } from 'zod'
import { fetching } from './table/fetching.ts'
import { limits } from './table/limits.ts'
import { politeness } from './table/politeness.ts'
import { processes } from './table/process.ts'
import { proxying } from './table/proxying.ts'
import type { Role, Setting } from './table/setting.ts'
import { store } from './table/store.ts'

const ALL = { ...politeness, ...limits, ...fetching, ...store, ...proxying, ...processes }
export type SettingName = keyof typeof ALL
export const SETTINGS: { readonly [N in SettingName]: (typeof ALL)[N] } = ALL

type NamesOf<R extends Role> = {
  [N in SettingName]: R extends (typeof ALL)[N]['roles'][number] ? N : never
}[SettingName]
type ShapeOf<R extends Role> = { [N in NamesOf<R>]: (typeof ALL)[N]['schema'] }
export type SettingsOf<R extends Role> = z.output<z.ZodObject<ShapeOf<R>>>

export const settingsOf = (role: Role): [SettingName, Setting][] =>
  (Object.entries(ALL) as [SettingName, Setting][]).filter(([, { roles }]) => roles.includes(role))

/** The settings that one role reads. */
export function schemaOf<R extends Role>(role: R): z.ZodObject<ShapeOf<R>> {
  const shape = Object.fromEntries(settingsOf(role).map(([name, { schema }]) => [name, schema]))
  return z.object(shape) as unknown as z.ZodObject<ShapeOf<R>>
}

/** Settings that nearly every fleet sets: without them a fleet serves only its own machine. */
const USUAL: ReadonlySet<SettingName> = new Set([
  'DECORUM_AGENTS',
  'DECORUM_CONTACT',
  'ARCHIVE_DIR',
  'REDIS_URL',
  'HOST',
  'PORT',
  'CONSOLE_PASSWORD',
])
/** Settings whose defaults fit nearly every fleet; changing one requires knowing how lanes, leases and reservations interact. */
const EXPERT: ReadonlySet<SettingName> = new Set([
  'DECORUM_ALLOW_PORTS',
  'FETCH_DEADLINE_MS',
  'LEASE_MS',
  'QUARANTINE_MS',
  'PERMIT_MAX_MS',
  'BACK_OFF_MS',
  'ROBOTS_RETRY_MS',
  'LANE_LIMIT',
  'RESERVE_MS',
  'INTAKE_LOCK_MS',
  'DNS_SERVERS',
  'PROXY_USER_AGENT',
])

export const AUDIENCES = ['You will set', 'You may set', 'For experts'] as const
export const audienceOf = (name: SettingName): (typeof AUDIENCES)[number] =>
  USUAL.has(name) ? 'You will set' : EXPERT.has(name) ? 'For experts' : 'You may set'

/** Whether a variable of the environment is a setting. */
export const isSetting = (name: string): boolean => Object.hasOwn(ALL, name)
