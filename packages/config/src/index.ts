/**
 * Every setting of the fleet in one table (settings.ts), with its meaning, default and reason, its readers, and whether all processes must
 * agree on it. Start at `readSettings`: environment → values, or one message that lists all errors. Agents, pace groups and permit tokens
 * are too large for a line; agents.ts, pace-groups.ts and permit-tokens.ts read them. fleet-config/ keeps the fleet's document in Redis,
 * and has its own entry.
 */
export {
  type AdaptiveDelay,
  type Agent,
  type AgentSettings,
  type Agents,
  agentsOf,
  contactIn,
  loadAgents,
  takeOverDelays,
  UNKNOWN_AGENT_WAIT_MS,
} from './agents.ts'
export {
  type AddressRange,
  addressRange,
  addressSet,
  dnsServers,
  entriesOf,
  isLoopback,
  portNumber,
} from './allow-lists.ts'
export { type Egress, type EgressOf, type ForwardProxy, readEgress } from './egress.ts'
export { type Difference, differenceLine, differences, isSame, shown } from './fleet/differences.ts'
export { checkDocument, readDocument } from './fleet/document.ts'
export { fleetJsonSchema } from './fleet/schema.ts'
export { contradictions, environmentOf, settled, valuesOfEnvironment } from './fleet/settle.ts'
export { FLEET_SETTINGS, type FleetValues, fleetSettingsOf, type Json } from './fleet/values.ts'
export { settingsHelp } from './help.ts'
export { inheritedCrawls } from './inherited.ts'
export { fileJsonSchema, settingsJsonSchema } from './json-schema.ts'
export { formerInDocument } from './names.ts'
export { type PaceGroupSettings, readPaceGroups } from './pace-groups.ts'
export { type PermitToken, readPermitTokens } from './permit-tokens.ts'
export { readingSettings, readSettings, SettingsError, wrongSettings } from './read-settings.ts'
export { brokenRelations } from './relations.ts'
export { AUDIENCES, audienceOf, isSetting, SETTINGS, type SettingName, type SettingsOf, schemaOf } from './settings.ts'
export {
  type Hours,
  readHours,
  readSitePolicies,
  type SitePolicies,
  type SitePolicy,
  SitePolicyEntry,
} from './site-policies.ts'
export { type StoreOptions, type StoreSettings, storeOptions, storeSettings } from './store.ts'
export { type Change, defaultOf, ROLES, type Role, type Setting, wholeNumber } from './table/setting.ts'
