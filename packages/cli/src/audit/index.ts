/** Judging a record of visits: the command, and the pure judge for tests and tools. */
export { type AuditOptions, auditCommand } from './command.ts'
export { type JudgeOptions, judgeRecord } from './judge-record.ts'
export { printReport } from './print-report.ts'
export { readLogs, UnreadableLogError } from './read-logs.ts'
export type { Evidence, RequestLine, RobotsLine } from './record.ts'
export type { LaneReport, Offence, Report, Violation } from './report.ts'
export { type Visitor, type Visitors, visitorsOf } from './visitors.ts'
