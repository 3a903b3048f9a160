/** HTTPS that is looked into: full promises within the tunnel, by an authority that its client is told to trust. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { decorum } from '../cli/decorum.ts'
import { TIMES, UA } from '../permits/fleet.ts'
import { get, installed, run, sharedProxyFleet } from './fleet.ts'
import { CA_FILE, spacing, tlsSite } from './tls-site.ts'

const [curl, wget, python] = [installed('curl'), installed('wget'), installed('python3')]
const site = await tlsSite((_, response) => void response.end('page'), {
  robots: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.3\n',
})
const expired = await tlsSite((_, response) => void response.end('never'), { certificate: 'expired' })

const folder = async (): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'decorum-inspect-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

describe('PROXY_CA=memory', () => {
  const fleet = sharedProxyFleet({ proxies: 2, env: { PROXY_CA: 'memory', NODE_EXTRA_CA_CERTS: CA_FILE } })
  /** A file with the authority of a proxy. */
  const authority = async (proxy: string): Promise<string> => {
    const file = join(await folder(), 'ca.pem')
    const { status, body } = await get(proxy, '/v1/ca.pem')
    expect(status).toBe(200)
    await writeFile(file, body)
    return file
  }

  test.skipIf(curl === undefined)(
    'curl: pages in turn over two proxies, HTTP/2 to the site, the agent named, what is forbidden refused',
    async () => {
      const { proxy } = await fleet([])
      const files = await Promise.all([authority(proxy()), authority(proxy(1))])
      const format = ['-s', '-o', '/dev/null', '-w', '%{http_code}']
      const got = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          run(curl as string, [...format, '--cacert', files[n % 2] ?? '', '-x', proxy(n % 2), `${site.origin}/${n}`]),
        ),
      )
      expect(got.map(({ stdout, stderr }) => stdout + stderr)).toEqual(Array(6).fill('200'))
      const refused = await run(curl as string, [
        '-s',
        '-i',
        '--cacert',
        files[0] ?? '',
        '-x',
        proxy(),
        `${site.origin}/no/x`,
      ])
      expect(refused.stdout).toMatch(/HTTP\/2 403 \r\n[\s\S]*line 2 of robots\.txt says disallow: \/no/)
      const robots = await run(curl as string, [
        '-s',
        '--cacert',
        files[0] ?? '',
        '-x',
        proxy(),
        `${site.origin}/robots.txt`,
      ])
      expect(robots.stdout).toBe('User-agent: *\nDisallow: /no\nCrawl-delay: 0.3\n')
      expect(site.visits.map(({ path }) => path).sort()).toEqual(['/0', '/1', '/2', '/3', '/4', '/5', '/robots.txt'])
      expect(new Set(site.visits.map(({ version, agent }) => `${version} ${agent}`))).toEqual(new Set([`2.0 ${UA}`]))
      const { overlaps, least } = spacing(site.visits)
      expect(overlaps).toBe(0)
      expect(least).toBeGreaterThanOrEqual(300 - 2)
    },
  )

  test.skipIf(curl === undefined)(
    'uploads go through, and several requests over one tunnel have a turn each',
    async () => {
      const { proxy } = await fleet([])
      const file = await authority(proxy())
      const before = site.visits.length
      const args = [
        '-s',
        '--cacert',
        file,
        '-x',
        proxy(),
        '-d',
        'sent',
        `${site.origin}/up`,
        '-o',
        '/dev/null',
        `${site.origin}/up2`,
        '-o',
        '/dev/null',
      ]
      expect((await run(curl as string, args)).code).toBe(0)
      const visits = site.visits.slice(before)
      expect(visits.map(({ method, path, body }) => [method, path, body])).toEqual([
        ['POST', '/up', 'sent'],
        ['POST', '/up2', 'sent'],
      ])
      expect(spacing(visits).least).toBeGreaterThanOrEqual(300 - 2)
    },
  )

  test.skipIf(curl === undefined)(
    'a certificate error of the site is an error for the client, and a client that does not trust the authority sends nothing',
    async () => {
      const { proxy } = await fleet([])
      const file = await authority(proxy())
      const bad = await run(curl as string, [
        '-s',
        '-i',
        '-m',
        '20',
        '--cacert',
        file,
        '-x',
        proxy(),
        `${expired.origin}/x`,
      ])
      expect(bad.stdout).toMatch(/HTTP\/2 502 \r\n[\s\S]*error=tls_certificate_error/)
      const untrusting = await run(curl as string, ['-s', '-x', proxy(), `${site.origin}/untrusted`])
      expect(untrusting.code).toBe(60)
      expect(site.visits.map(({ path }) => path)).not.toContain('/untrusted')
      const counts = JSON.parse((await get(proxy(), '/v1/counts')).body)
      await expect.poll(async () => JSON.parse((await get(proxy(), '/v1/counts')).body).refusals.untrusted).toBe(1)
      expect(counts.sites[expired.origin]?.sent ?? 0).toBe(0)
    },
  )

  test('plain HTTP within a tunnel is read as such, and a tunnel leads to its own host alone', async () => {
    const { web, proxy, expectPolite } = await fleet([
      { name: 'plain', robots: { body: 'User-agent: *\nDisallow: /no\n' } },
    ])
    const { host, hostname } = new URL(web.origins.plain as string)
    const say = (text: string): Promise<string> => {
      const socket = connect(Number(new URL(proxy()).port), '127.0.0.1')
      let said = ''
      return new Promise((resolve, reject) => {
        socket.once('error', reject)
        socket.on('data', (piece) => (said += piece))
        socket.once('close', () => resolve(said))
        socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
        socket.once('data', () => socket.write(text))
      })
    }
    const ask = (path: string, to = host): Promise<string> =>
      say(`GET ${path} HTTP/1.1\r\nHost: ${to}\r\nConnection: close\r\n\r\n`)
    expect(await ask('/page')).toMatch(/HTTP\/1\.1 200 OK\r\n/)
    expect(await ask('/no')).toMatch(/HTTP\/1\.1 403 Forbidden\r\n/)
    expect(await ask('/page', `${hostname}:1`)).toMatch(/HTTP\/1\.1 400 Bad Request\r\n[\s\S]*Host names another site/)
    expect(await ask('/livez')).toContain('HTTP/1.1 200 OK\r\n')
    await expectPolite()
    const { requests } = await web.evidence()
    expect(requests.map(({ path }) => path)).toEqual(['/robots.txt', '/page', '/livez'])
  })
})

describe('decorum proxy ca', () => {
  test('writes an authority whose key its user alone can read, constrained to hosts, and overwrites none', async () => {
    const dir = join(await folder(), 'ca')
    const made = await decorum(['proxy', 'ca', dir, '--hosts', 'shop.example', '--days', '30', '--json'])
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect(JSON.parse(made.stdout)).toMatchObject({ days: 30, hosts: ['shop.example'] })
    expect((await stat(join(dir, 'ca-key.pem'))).mode & 0o777).toBe(0o600)
    const before = await readFile(join(dir, 'ca.pem'), 'utf8')
    const again = await decorum(['proxy', 'ca', dir])
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('EEXIST')])
    expect(await readFile(join(dir, 'ca.pem'), 'utf8')).toBe(before)
  })
})

describe('decorum guard', () => {
  const env = { NODE_EXTRA_CA_CERTS: CA_FILE, DEFAULT_DELAY_MS: String(TIMES.delayMs) }
  const fetches: [name: string, program: string | undefined, args: (url: string) => string[]][] = [
    ['curl', curl, (url) => ['-s', '-o', '/dev/null', '-w', '%{http_code}', url]],
    ['wget', wget, (url) => ['-q', '-S', '-O', '/dev/null', url]],
    ['python3', python, (url) => ['-c', `import urllib.request as u; print(u.urlopen("${url}").status)`]],
    ['node', process.execPath, (url) => ['-e', `fetch('${url}').then((answer) => console.log(answer.status))`]],
  ]
  test.each(fetches.filter(([, program]) => program !== undefined))(
    '%s over HTTPS, unchanged, trusts the authority of its guard',
    async (name, program, args) => {
      const { code, stdout, stderr } = await decorum(
        ['guard', '--', program as string, ...args(`${site.origin}/by-${name}`)],
        { env },
      )
      expect(code, stderr).toBe(0)
      expect(name === 'wget' ? stderr : stdout).toContain('200')
      expect(site.visits.at(-1)).toMatchObject({ path: `/by-${name}`, agent: expect.stringMatching(/^decorum\//) })
      expect(stderr).toMatch(/1 request: 1 sent, 0 refused/)
    },
  )
})
