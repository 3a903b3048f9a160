#!/usr/bin/env node
/**
 * The `decorum` command as a process. Whatever it runs is loaded only when compiled code is kept, because what is loaded before is
 * compiled each time: half of the processor time of a short command (docs/decisions/0010-compiled-code-is-kept.md).
 */
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module' // not by name: an older Node would have no module to run
import { join } from 'node:path'
import { bundled } from '@decorum/runtime/bundled'
import { cacheFolder } from './local-redis/cache-folder.ts'
import { isRole } from './roles.ts'
import type * as RunCommand from './run-command.ts'

/** A handle that is left open at the end (a keep-alive socket) keeps the process alive for at most this long. */
const LINGER_MS = 2_000

// The packed command says which Node it needs; this repository brings its own.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const wanted = Number(/\d+/.exec(engines?.node)?.[0] ?? 0)
if (Number.parseInt(process.versions.node, 10) < wanted) {
  process.stderr.write(`decorum: Node ${wanted} or newer is needed; this is Node ${process.versions.node}\n`)
  process.exit(2)
}
// Files of these commands are readable by their user alone; a role keeps the umask that its operator set, and so does what `guard` runs.
const [word, second = '-'] = process.argv.slice(2)
const isRoleItself = isRole(word) && second.startsWith('-') // not `proxy ca`
if (!isRoleItself && word !== 'guard') process.umask(0o077)
for (const stream of [process.stdout, process.stderr]) {
  // `decorum outcomes | head`: the reader has closed the pipe
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
}
const cache = await cacheFolder()
if (cache !== undefined) {
  // Node reads the variable at its start: processes that this one starts have no module that is compiled each time.
  process.env.NODE_COMPILE_CACHE ??= join(cache, 'compiled')
  nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
const { runCommand } = (await import(bundled(new URL('run-command.ts', import.meta.url)))) as typeof RunCommand
process.exitCode = await runCommand(process.argv.slice(2))
setTimeout(() => process.exit(), LINGER_MS).unref()
