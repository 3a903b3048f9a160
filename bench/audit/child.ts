/** Audits one file in a process of its own and tells what that took and how large it became. */
import { agentsOf, auditLogs } from '@decorum/audit'

const [file = ''] = process.argv.slice(2)
const agents = agentsOf({ profile: 'decorum', minDelayMs: 1_000, maxDelayMs: 10_000 })
const startedAt = performance.now()
const before = process.cpuUsage()
const { requests, total, violations } = await auditLogs([file], { agents })
const { user, system } = process.cpuUsage(before)
process.send?.({
  ms: performance.now() - startedAt,
  cpuMs: (user + system) / 1_000,
  maxRssKb: process.resourceUsage().maxRSS,
  requests,
  total,
  violations,
})
