/**
 * Writes the fixture of today's layout: `node test/ledger/layouts/write.ts --write`. A fixture of a layout that was released is never
 * written again; a change of the stored form that asks for it needs another number (docs/decisions/0021-upgrades.md).
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis, spawnRedis } from '@decorum/cli/local-redis/testing'
import { announceNew } from '@decorum/ledger'
import { LAYOUT } from '@decorum/ledger/testing'
import { Redis } from 'ioredis'
import { fill } from './fill.ts'
import { readStored } from './stored.ts'

const dir = await mkdtemp(join(tmpdir(), 'decorum-layout-'))
const server = await spawnRedis(await findRedis(console.error), { dir, appendonly: false })
const redis = new Redis(server.url)
await announceNew(redis)
await (await fill(server.url)).close()
const text = `${JSON.stringify(await readStored(redis), undefined, 1)}\n`
if (process.argv.includes('--write')) await writeFile(new URL(`./layout-${LAYOUT.version}.json`, import.meta.url), text)
else process.stdout.write(text)
redis.disconnect()
server.child.kill()
await server.exited
await rm(dir, { recursive: true, force: true })
