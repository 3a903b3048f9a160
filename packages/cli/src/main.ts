#!/usr/bin/env node
/**
 * The `decorum` command as a process. Modules are loaded only once the compile cache is enabled, because modules loaded earlier are compiled
 * at each start: half of the processor time of a short command (docs/decisions/0010-compiled-code-is-kept.md).
 */
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module' // no named imports: an older Node lacks some, and would not run this module
import { join } from 'node:path'
import { bundled } from '@decorum/runtime/bundled'
import { cacheFolder } from './local-redis/cache-folder.ts'
import { isRole } from './roles.ts'
import type * as RunCommand from './run-command.ts'

/** How long an open handle (a keep-alive socket) may keep the process alive at the end. */
const LINGER_MS = 2_000

// The installed command may run on any Node; package.json states the oldest that works.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const wanted = Number(/\d+/.exec(engines?.node)?.[0] ?? 0)
if (Number.parseInt(process.versions.node, 10) < wanted) {
  process.stderr.write(`decorum: Node ${wanted} or newer is needed; this is Node ${process.versions.node}\n`)
  process.exit(2)
}
// Only the user can read files of these commands; a role keeps the operator's umask, and so does the command that `guard` runs.
const [word, second = '-'] = process.argv.slice(2)
const isRoleItself = isRole(word) && second.startsWith('-') // not `proxy ca`
if (!isRoleItself && word !== 'guard') process.umask(0o077)
for (const stream of [process.stdout, process.stderr]) {
  // `decorum outcomes | head`: the reader has closed the pipe
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
}
const cache = await cacheFolder()
if (cache !== undefined) {
  // Node reads the variable at its start, so child processes compile no module at each start.
  process.env.NODE_COMPILE_CACHE ??= join(cache, 'compiled')
  nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
const { runCommand } = (await import(bundled(new URL('run-command.ts', import.meta.url)))) as typeof RunCommand
process.exitCode = await runCommand(process.argv.slice(2))
setTimeout(() => process.exit(), LINGER_MS).unref()
