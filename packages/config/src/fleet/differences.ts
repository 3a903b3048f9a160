/** The differences between two documents, or a document and an environment: member by member, with what each change requires. */
import { LIVE_MEMBERS } from '../agents.ts'
import { SETTINGS, type SettingName } from '../settings.ts'
import type { Change, Setting } from '../table/setting.ts'
import { FLEET_SETTINGS, type FleetValues, type Json } from './values.ts'

export type Difference = {
  setting: SettingName
  /** the setting, or a member of it: `DECORUM_AGENTS.examplebot.minDelayMs` */
  path: string
  from: Json | undefined
  to: Json | undefined
  change: Change
}

export function differences(
  from: FleetValues,
  to: FleetValues,
  names: readonly SettingName[] = FLEET_SETTINGS,
): Difference[] {
  return names.flatMap((setting) =>
    leaves(setting, named(setting, from[setting]), named(setting, to[setting])).map((leaf) => ({
      setting,
      ...leaf,
      change: changeOf(setting, leaf.path),
    })),
  )
}

export const isSame = (one: Json | undefined, other: Json | undefined): boolean => leaves('', one, other).length === 0

/** `DEFAULT_DELAY_MS: 1000 → 2000 (live)` */
export const differenceLine = ({ path, from, to, change }: Difference): string =>
  `${path}: ${shown(from)} → ${shown(to)} (${change})`

export const shown = (value: Json | undefined): string =>
  value === undefined || value === null || value === ''
    ? 'none'
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

type Leaf = { path: string; from: Json | undefined; to: Json | undefined }

function leaves(path: string, from: Json | undefined, to: Json | undefined): Leaf[] {
  if (isObject(from) && isObject(to)) {
    const members = new Set([...Object.keys(from), ...Object.keys(to)])
    return [...members].flatMap((member) =>
      leaves(path === '' ? member : `${path}.${member}`, from[member], to[member]),
    )
  }
  if (Array.isArray(from) && Array.isArray(to))
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }]
  const isNone = (value: Json | undefined): boolean => value === undefined || value === null || value === ''
  return from === to || (isNone(from) && isNone(to)) ? [] : [{ path, from, to }]
}

const isObject = (value: Json | undefined): value is { [member: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Agents are compared by name. Only the first position matters: it is the default agent. */
function named(setting: SettingName, value: Json | undefined): Json | undefined {
  if (setting !== 'DECORUM_AGENTS' || !Array.isArray(value)) return value
  const agents = value as { name: string }[]
  const byName = Object.fromEntries(agents.map((agent) => [agent.name.toLowerCase(), agent as unknown as Json]))
  return { ...byName, 'the default': agents[0]?.name.toLowerCase() ?? '' }
}

const LIVE = new RegExp(`\\.(${LIVE_MEMBERS.join('|')})(\\.|$)`)
/** Members that decide how an agent's lanes are named and its rules are read. */
const IDENTITY = /\.(name|fallbacks|profile)$/

/**
 * Running processes apply new delays of agents. Adding an agent is safe while some processes lack it, since they defer its lanes.
 * Processes that read the rules of one agent differently are not safe.
 */
function changeOf(setting: SettingName, path: string): Change {
  if (setting !== 'DECORUM_AGENTS') return (SETTINGS[setting] as Setting).fleet ?? 'restart'
  if (LIVE.test(path)) return 'live'
  return IDENTITY.test(path) ? 'identity' : 'restart'
}
