/** Reads the fleet's document as a person writes it: setting → value, checked like the environment, with all relations. */
import { type Agents, agentsOf } from '../agents.ts'
import { misspelt } from '../names.ts'
import { wrongSettings } from '../read-settings.ts'
import { brokenRelations, type Related } from '../relations.ts'
import { isSetting, type SettingName } from '../settings.ts'
import { readSitePolicies, type SitePolicies } from '../site-policies.ts'
import { defaultValueOf, FLEET_SETTINGS, type FleetValues, readJsonValue, textOf } from './values.ts'

/**
 * @param json  the content of a file. A setting that it omits keeps its value; null means its default.
 * @param base  the values that the fleet has decided so far
 * @throws SettingsError with everything that is wrong, one line each; then nothing was changed
 */
export function readDocument(json: unknown, base: FleetValues = {}): FleetValues {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw wrongSettings('the document: settings and their values are needed, such as DEFAULT_DELAY_MS: 1000')
  const wrong: string[] = []
  const values: FleetValues = Object.fromEntries(
    FLEET_SETTINGS.map((name) => [name, base[name] ?? defaultValueOf(name)]),
  )
  for (const [name, value] of Object.entries(json)) {
    if (!isOfDocument(name)) {
      wrong.push(unknownName(name))
      continue
    }
    try {
      values[name] = readJsonValue(name, value)
    } catch (error) {
      wrong.push((error as Error).message)
      delete values[name] // so that its relations are not checked against its earlier value
    }
  }
  if (wrong.length > 0) throw wrongSettings(...wrong, ...brokenRelations(values as Partial<Related>))
  checkDocument(values)
  return values
}

/** @throws SettingsError naming each relation that does not hold */
export function checkDocument(values: FleetValues): void {
  const broken = brokenRelations(values as Partial<Related>)
  if (broken.length > 0) throw wrongSettings(...broken)
  if (values.DEFAULT_DELAY_MS === undefined) return
  const agents = agentsOf({
    DECORUM_AGENTS: textOf(values.DECORUM_AGENTS),
    DECORUM_CONTACT: textOf(values.DECORUM_CONTACT),
    DEFAULT_DELAY_MS: Number(values.DEFAULT_DELAY_MS),
    MAX_DELAY_MS: Number(values.MAX_DELAY_MS),
  })
  const wrong = withoutEffect(readSitePolicies(textOf(values.SITE_POLICIES)), agents)
  if (wrong.length > 0) throw wrongSettings(...wrong)
}

/** A delay below the minimum of every agent would have no effect. */
function withoutEffect(policies: SitePolicies, agents: Agents): string[] {
  const least = Math.min(...agents.list.map(({ minDelayMs }) => minDelayMs))
  return Object.entries(policies).flatMap(([site, { delayMs, consent }]) =>
    delayMs === undefined || consent !== undefined || delayMs >= least
      ? []
      : [
          `SITE_POLICIES.${site}.delayMs: ${delayMs} is less than the ${least} ms that every agent keeps anyway: say in consent who has consented to less, or leave it out`,
        ],
  )
}

const isOfDocument = (name: string): name is SettingName => (FLEET_SETTINGS as string[]).includes(name)

function unknownName(given: string): string {
  if (given === 'DECORUM_PARTITIONS') return `${given}: 'decorum ledger partitions' changes it, not this document`
  if (isSetting(given)) return `${given}: each process has its own, in its environment; leave it out here`
  return misspelt({ [given]: '' })[0] ?? `${given}: there is no such setting`
}
