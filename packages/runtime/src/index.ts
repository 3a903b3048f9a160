/** What every role process has around its work: its health and metrics door, its queue connection. */
export { closeWithin } from './close-within.ts'
export { CRASH_POINTS, type CrashPoint, crashPoint, crashPointSoon } from './crash-point.ts'
export { type HealthServer, type HealthServerOptions, openHealthServer } from './health-server.ts'
export { queueConnection } from './redis.ts'
export { endIfUnfit } from './unfit.ts'

/** What a service's `main` answers: where its door is, and how to stop it in order. */
export type RunningService = { port: number; stop(): Promise<void> }
