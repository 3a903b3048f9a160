/**
 * The `decorum` command. Start at `buildProgram` (program.ts): every command with its options; each command's body is a file
 * in commands/. main.ts is what the shell runs. `startFleet` runs gateways, fetchers, a console, permits and proxies as child processes.
 * local-redis/ finds, starts and guards a Redis, synthetic-web/ has the sites of the demo: each with an entry of its own.
 */
export { type Fleet, startFleet } from './fleet.ts'
export { buildProgram } from './program.ts'
export { type RoleEvent, RoleProcess } from './role-process.ts'
