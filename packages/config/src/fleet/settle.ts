/** Compares a process's environment with the fleet's document: values that the process takes or adds, and contradictions. */
import type { SettingName } from '../settings.ts'
import { differences, shown } from './differences.ts'
import { defaultValueOf, FLEET_SETTINGS, type FleetValues, readValue, textOf } from './values.ts'

type Env = Record<string, string | undefined>

/** The fleet's settings in the environment. @throws Error with a message for people */
export function valuesOfEnvironment(env: Env): FleetValues {
  const given = FLEET_SETTINGS.filter((name) => (env[name] ?? '').trim() !== '')
  return Object.fromEntries(given.map((name) => [name, readValue(name, env[name] as string)]))
}

/**
 * The document with this process's decisions added: for undecided settings its own values, or the defaults of those that it reads.
 * @param reads  the settings that this process uses
 */
export function settled(document: FleetValues, given: FleetValues, reads: readonly SettingName[]): FleetValues {
  const values = { ...document }
  for (const name of FLEET_SETTINGS) {
    if (values[name] !== undefined) continue
    if (given[name] !== undefined) values[name] = given[name]
    else if (reads.includes(name)) values[name] = defaultValueOf(name)
  }
  return values
}

/** One sentence for each value of the environment that differs from the document. */
export function contradictions(document: FleetValues, given: FleetValues, version: number): string[] {
  const names = FLEET_SETTINGS.filter((name) => given[name] !== undefined && document[name] !== undefined)
  return differences(given, document, names).map(
    ({ path, setting, from, to }) =>
      `${path}: it is ${shown(from)} here, but ${shown(to)} in the fleet's configuration (version ${version}): remove ${setting} here, or change the fleet's with 'decorum config apply'`,
  )
}

/** The environment with every setting of the fleet replaced by the document's value. */
export function environmentOf(document: FleetValues, env: Env): Env {
  const filled = { ...env }
  for (const name of FLEET_SETTINGS) {
    const value = document[name]
    if (value !== undefined) filled[name] = textOf(value)
  }
  return filled
}
