/**
 * Every setting of the fleet in one table (settings.ts), with its meaning, default and reason, who reads it and whether all
 * processes must agree on it. Start at `readSettings`: environment → values, or one message that names all that is wrong.
 * Agents and pace groups are settings too large for a line; agents.ts and pace-groups.ts read them.
 */
export {
  type AdaptiveDelay,
  type Agent,
  type AgentSettings,
  type Agents,
  agentsOf,
  loadAgents,
  PROFILES,
  UNKNOWN_AGENT_WAIT_MS,
} from './agents.ts'
export { type AddressRange, addressRange, addressSet, dnsServers, entriesOf, portNumber } from './allow-lists.ts'
export { settingsHelp } from './help.ts'
export { agentsJsonSchema, paceGroupsJsonSchema, settingsJsonSchema } from './json-schema.ts'
export { type PaceGroupSettings, readPaceGroups } from './pace-groups.ts'
export { readingSettings, readSettings, SettingsError, wrongSettings } from './read-settings.ts'
export { checkRelations } from './relations.ts'
export { isSetting, SETTINGS, type SettingName, type SettingsOf, schemaOf, TABLE } from './settings.ts'
export { defaultOf, ROLES, type Role, type Setting, wholeNumber } from './table/setting.ts'
