/** Agents for tests, without anything of the test runner. */
import { type Agents, loadAgents } from '@decorum/protocol'

export const agentsOf = (
  settings: { contact?: string; agents?: string } = { contact: 'https://example.com/bot' },
): Agents => loadAgents({ defaultGapMs: 100, maxGapMs: 10_000, ...settings })
