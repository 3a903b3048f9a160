/** Agents for tests, without anything of the test runner. */
import { type Agents, loadAgents } from '@decorum/config'

export const agentsOf = (
  settings: { contact?: string; agents?: string } = { contact: 'https://example.com/bot' },
): Agents => loadAgents({ defaultDelayMs: 100, maxDelayMs: 10_000, ...settings })
