/** Every setting of the fleet: schemas, agents, relations between values. Start at `readSettings`. */
export {
  type AdaptiveDelay,
  type Agent,
  type AgentSettings,
  type Agents,
  loadAgents,
  UNKNOWN_AGENT_WAIT_MS,
} from './agents.ts'
export { readJsonSetting } from './json-setting.ts'
export { checkRelations, common, readingSettings, readSettings, SettingsError, wholeNumber } from './settings.ts'
export { wrongValues } from './wrong-value.ts'
