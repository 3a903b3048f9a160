/**
 * `decorum guard` for all runs of the bench: its command tells the environment that it was given, and stays. Each peer is then run in that
 * environment, as if it were the command. So a fleet is started once, and not for each run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Authority } from './authority.ts'
import { DELAY_MS } from './sites.ts'

const CLI = join(import.meta.dirname, '../../packages/cli/src/main.ts')
const ARRIVALS = pathToFileURL(join(import.meta.dirname, 'arrivals.ts')).href
const SETTINGS = {
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DECORUM_AGENTS: JSON.stringify([{ name: 'peerbot', userAgent: 'peerbot/1 (+https://example.com/bot)' }]),
  DEFAULT_DELAY_MS: String(DELAY_MS),
}

export type Guard = {
  /** of its command */
  env: NodeJS.ProcessEnv
  /** file of what arrivals.ts writes */
  arrivals: string
  stop(): Promise<void>
}

/** @param env  of the bench, without settings of Decorum and other proxies. @throws Error with what it said, when it does not come up */
export async function startGuard(env: NodeJS.ProcessEnv, authority: Authority): Promise<Guard> {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-guard-bench-'))
  const [arrivals, told] = [join(folder, 'arrivals.ndjson'), join(folder, 'env.json')]
  writeFileSync(arrivals, '')
  const tell = `require('node:fs').writeFileSync(${JSON.stringify(told)}, JSON.stringify(process.env)); console.log('told'); process.stdin.resume()`
  const child = spawn(process.execPath, [CLI, 'guard', '--', process.execPath, '-e', tell], {
    env: {
      ...env,
      ...SETTINGS,
      SSL_CERT_FILE: authority.file,
      NODE_EXTRA_CA_CERTS: authority.file,
      XDG_DATA_HOME: join(folder, 'data'),
      PEER_ARRIVALS: arrivals,
      NODE_OPTIONS: `--import ${ARRIVALS}`,
    },
  })
  let said = ''
  child.stderr.on('data', (piece: Buffer) => (said += piece))
  const ended = once(child, 'exit')
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`decorum guard ended with ${code}: ${said}`))),
  ])
  const {
    NODE_OPTIONS: _loaded,
    PEER_ARRIVALS: _file,
    ...given
  } = JSON.parse(readFileSync(told, 'utf8')) as NodeJS.ProcessEnv
  // Its own settings are not for the peers: Crawlee for Python has a LOG_LEVEL as well
  for (const name of Object.keys(SETTINGS)) delete given[name]
  return {
    env: given,
    arrivals,
    async stop() {
      child.stdin.end()
      await ended
      if (process.env.PEER_SHOW) process.stderr.write(said)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
