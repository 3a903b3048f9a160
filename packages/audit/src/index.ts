/**
 * Judges a crawler's politeness only by the records of sites. Start at `auditLogs` for files, at `openAudit` for exchanges from other
 * sources; docs/audit.md defines every verdict.
 */
export { type AgentFinder, type AgentSettings, type AuditedAgent, agentsOf, type FleetAgents } from './agents.ts'
export { type Audit, judgeRecord, openAudit } from './judge/audit.ts'
export type { PaceGroups } from './judge/judge-groups.ts'
export type { SitePolicies, SitePolicy } from './judge/judge-sites.ts'
export type { JudgeOptions } from './judge/judged.ts'
export { OFFENCES, type Offence } from './offences.ts'
export { htmlReport } from './print/html.ts'
export { printable, printableJson } from './print/printable.ts'
export { textReport } from './print/text.ts'
export { auditLogs, exitCodeOf, readLogs, readRecord, UnreadableLogError } from './read/logs.ts'
export { readRobotsFolder } from './read/robots-folder.ts'
export { readStopsFile } from './read/stops.ts'
export type { Evidence, RequestLine, RobotsByOrigin, RobotsLine, StopLine } from './record.ts'
export type { AgentReport, LaneReport, LaneTimeline, Report, Violation } from './report.ts'
export { reportSchema } from './schema.ts'
