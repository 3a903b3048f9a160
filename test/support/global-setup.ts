/** Before the tests that need a Redis: find a server program once, the same way as `npm start` does. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis, type RedisBinary } from '@decorum/cli/local-redis/testing'
import type { TestProject } from 'vitest/node'
import { ensureBundle } from '../../scripts/bundle.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    redisBinary: RedisBinary
    /** Folder of this run: one sub-folder per server, named by `startRedis`. */
    redisFolder: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureBundle() // processes load what `npm start` would have them load
  const redisFolder = await mkdtemp(join(tmpdir(), 'decorum-test-'))
  project.provide('redisBinary', await findRedis((line) => console.log(line)))
  project.provide('redisFolder', redisFolder)
  return async () => {
    // A test process that was killed could not stop its servers: their pids are in its folders.
    for (const name of await readdir(redisFolder)) {
      const pid = await readFile(join(redisFolder, name, 'test.pid'), 'utf8').catch(() => '')
      if (pid) process.kill(Number(pid), 'SIGKILL')
    }
    await rm(redisFolder, { recursive: true, force: true })
  }
}
