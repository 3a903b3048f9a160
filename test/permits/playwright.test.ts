/** The worker that renders pages: what a site and its neighbours see of a page with scripts, and what is kept of it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openContent } from '@decorum/content'
import { expect, onTestFinished, test } from 'vitest'
import { poolFleet } from './pool.ts'

const WORKER = fileURLToPath(new URL('../../integrations/playwright/worker.js', import.meta.url))

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null) return
  const gone = once(worker, 'exit')
  worker.kill('SIGTERM')
  await gone
}

test.skipIf(!existsSync('/usr/bin/chromium'))(
  'a page is rendered; its scripts ask for leave at their own origins, images are blocked, and no site sees a violation',
  async () => {
    const page = `<html><head><script src="/own.js"></script><script src="{origin:cdn}/lib.js"></script>
      <script src="{origin:cdn}/no.js"></script></head><body><img src="/big.png"><p id="text">source</p></body></html>`
    const script = `addEventListener('load', async () => {
      const { word } = await (await fetch('/data.json')).json()
      document.getElementById('text').textContent = 'rendered ' + word + ' ' + window.fromCdn
      fetch('/again', { method: 'POST' }).catch(() => {})
      location.href = '/elsewhere'
    })`
    const sites = [
      {
        name: 'page',
        robots: { body: 'User-agent: *\nDisallow: /private\n' },
        paths: {
          '/': { body: page },
          '/own.js': { body: script, type: 'text/javascript' },
          '/data.json': { body: '{"word":"well"}', type: 'application/json' },
          '/redirects': { status: 302, location: '/' },
        },
      },
      {
        name: 'cdn',
        robots: { body: 'User-agent: *\nDisallow: /no.js\n' },
        paths: { '/lib.js': { body: 'window.fromCdn = "indeed"', type: 'text/javascript' } },
      },
    ]
    const folder = await mkdtemp(join(tmpdir(), 'decorum-rendered-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const fleet = await poolFleet(sites, {
      env: { LEASE_MS: '20000', FETCH_DEADLINE_MS: '15000', ARCHIVE_DIR: folder },
    })
    const worker = spawn(process.execPath, [WORKER, fleet.url(), 'browsers'], { stdio: 'inherit' })
    onTestFinished(() => end(worker))
    const { page: origin } = fleet.web.origins
    await fleet.enqueue([
      { id: 'a', url: `${origin}/`, agent: 'poolbot' },
      { id: 'b', url: `${origin}/redirects`, agent: 'poolbot' },
    ])
    const ended = await fleet.outcomesOf(['a', 'b'])
    expect(ended.get('b')).toMatchObject({ kind: 'redirected', to: `${origin}/` })
    const outcome = ended.get('a')
    expect(outcome).toMatchObject({ kind: 'fetched', status: 200, truncated: '' })
    await end(worker)
    const archive = outcome?.kind === 'fetched' ? outcome.archive : undefined
    const content = await openContent(archive?.ref ?? '')
    expect(await content.text()).toContain('rendered well indeed')
    await fleet.expectPolite()
    const { requests } = await fleet.web.evidence()
    const seen = requests.map(({ method, path }) => `${method} ${path}`)
    for (const one of ['GET /own.js', 'GET /data.json', 'GET /lib.js']) expect(seen).toContain(one)
    for (const one of ['/big.png', '/no.js', '/again', '/elsewhere', '/favicon.ico'])
      expect(requests.map(({ path }) => path)).not.toContain(one)
  },
)
