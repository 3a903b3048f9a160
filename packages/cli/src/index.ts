/**
 * The `decorum` command. Start at `buildProgram` (program.ts): every command with its options; the body of each command is a file in
 * commands/. The shell runs main.ts. `startFleet` runs gateways, fetchers, a console, permits and proxies as child processes.
 * local-redis/ finds, starts and guards a Redis; synthetic-web/ has the sites of the demo: each has its own entry.
 */
export { type Fleet, startFleet } from './fleet.ts'
export { buildProgram } from './program.ts'
export { type RoleEvent, RoleProcess } from './role-process.ts'
