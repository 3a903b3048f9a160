/** Programs that send a token or a login, before a service that redirects: nothing of it may reach the host that is named. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
// @ts-expect-error plain JavaScript, to be copied as it is
import { openPermits } from '../../integrations/undici/permits.js'
import { answerOf, rawOrigin } from '../fetcher/support/raw-origin.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
const stranger = await rawOrigin(answerOf(200, {}, '{}').toString('latin1'))
const moved = answerOf(302, { location: `${stranger.origin}/v1/permits` }, 'over there').toString('latin1')
const service = await rawOrigin(moved)
const folder = await mkdtemp(join(tmpdir(), 'redirects-'))
await writeFile(join(folder, 'urls.txt'), 'https://example.com/\n')

const adapter = `
import sys; sys.path.insert(0, "${root}integrations/python")
from decorum_permits import Permits, Refused
try: Permits("${service.origin}", token="the-secret-of-this-test", patience=0).ask("https://example.com/")
except Refused as error: sys.exit(str(error))`

test.skipIf(!hasPython).for([
  ['the Python adapter', ['-c', adapter]],
  ['integrations/python/frontier.py', [`${root}integrations/python/frontier.py`, 'urls.txt', 'done.ndjson']],
  ['examples/breadth-first.py', [`${root}examples/breadth-first.py`, 'https://example.com/']],
] as const)('%s stops at a redirect', async ([, args]) => {
  const before = service.asked.length
  const env = { ...process.env, CONSOLE: service.origin, LOGIN: 'decorum:the-secret' }
  await expect(promisify(execFile)('python3', args, { cwd: folder, env })).rejects.toMatchObject({
    stderr: expect.stringContaining('302'),
  })
  expect(service.asked.slice(before).map(({ head }) => /authorization: \w/i.test(head))).toEqual([true])
  expect(stranger.connections).toBe(0)
})

test('the adapter for Node stops at a redirect', async () => {
  const permits = openPermits({ url: service.origin, token: 'the-secret-of-this-test' })
  expect((await permits.call('GET', '/v1/shadow')).status).toBe(302)
  permits.close()
  expect(stranger.connections).toBe(0)
})
