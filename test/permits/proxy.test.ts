/** wget and curl through the proxy: each request has its permit; HTTPS is refused. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { permitFleet } from './fleet.ts'

const exec = promisify(execFile)
const PROXY = fileURLToPath(new URL('../../integrations/proxy/proxy.js', import.meta.url))
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0

test.skipIf(!has('wget') || !has('curl'))('wget -r and curl through the proxy are one polite visitor', async () => {
  const links = ['/a', '/no/b', '/moved', '/busy'].map((path) => `<a href="${path}">x</a>`).join('')
  const sites = [
    {
      name: 'w',
      robots: { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.4\n' },
      paths: {
        '/': { body: links },
        '/moved': { status: 302, location: '/target' },
        '/busy': [{ status: 503, retryAfter: '1' }, {}],
      },
    },
  ]
  const { web, url, expectPolite } = await permitFleet(sites, {
    env: { LEASE_MS: '20000', FETCH_DEADLINE_MS: '10000' },
  })
  const proxy = spawn(process.execPath, [PROXY, url(), '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void proxy.kill())
  const [line] = (await once(proxy.stdout, 'data')) as [Buffer]
  const address = String(line).trim().replace('http_proxy=', '')
  const folder = await mkdtemp(join(tmpdir(), 'decorum-wget-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { w } = web.origins
  const wget = ['-r', '-nv', '--retry-on-http-error=503', '-e', 'use_proxy=yes', '-e', `http_proxy=${address}`, `${w}/`]
  const wgetting = exec('wget', wget, { cwd: folder }).catch((error: { stderr: string }) => error) // 8: one URL was forbidden
  const curl = ['-s', '-o', '/dev/null', '-w', '%{http_code} ', '-x', address, '--noproxy', '']
  const [{ stdout }] = await Promise.all([exec('curl', [...curl, `${w}/c`, '-o', '/dev/null', `${w}/no/d`]), wgetting])
  expect(stdout.trim()).toBe('200 403')
  const tunnel = await exec('curl', [...curl, 'https://site.invalid/']).catch((error: { code: number }) => error)
  expect(tunnel).toMatchObject({ code: 56 }) // it got no tunnel
  await expectPolite()
  const { requests } = await web.evidence()
  const seen = requests.map(({ path, status }) => `${path} ${status}`)
  for (const one of ['/ 200', '/a 200', '/c 200', '/moved 302', '/target 200', '/busy 503', '/busy 200'])
    expect(seen).toContain(one)
  expect(requests.filter(({ path }) => path === '/robots.txt')).toHaveLength(1)
})
