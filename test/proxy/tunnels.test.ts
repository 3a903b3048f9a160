/** HTTPS as tunnels: refused unless asked for, and then one at a time, with the delay of the site between them. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { TIMES } from '../permits/fleet.ts'
import { installed, run, sharedProxyFleet } from './fleet.ts'
import { CA_FILE, spacing, tlsSite } from './tls-site.ts'

const curl = installed('curl')
const site = await tlsSite((_, response) => void response.end('page'), { robots: 'User-agent: *\nDisallow: /no\n' })

/** Sends a text to the proxy, and takes what comes until the end. */
function say(proxy: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(proxy).port), '127.0.0.1')
  let said = ''
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.on('data', (piece) => (said += piece))
    socket.once('close', () => resolve(said))
    socket.write(text)
  })
}

describe('without a mode', () => {
  const fleet = sharedProxyFleet()

  test('CONNECT is refused with a sentence that names both modes', async () => {
    const { proxy } = await fleet([])
    const said = await say(proxy(), `CONNECT 127.0.0.1:${site.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(said).toMatch(/^HTTP\/1\.1 501 /)
    expect(said).toContain('decorum proxy --tunnels')
    expect(said).toContain('decorum guard --')
    expect(said).toMatch(/\r\nproxy-status: decorum; error=http_request_denied; /)
  })
})

describe('with PROXY_TUNNELS=yes', () => {
  const env = {
    PROXY_TUNNELS: 'yes',
    DECORUM_ALLOW_PORTS: String(site.port),
    NODE_EXTRA_CA_CERTS: CA_FILE,
  }
  const fleet = sharedProxyFleet({ proxies: 2, env })
  const args = ['-s', '--cacert', CA_FILE, '-o', '/dev/null', '-w', '%{http_code}']

  test.skipIf(curl === undefined)(
    'curl: tunnels to one site, through two proxies, come one after another with its delay',
    async () => {
      const { proxy } = await fleet([])
      const pages = Array.from({ length: 6 }, (_, n) =>
        run(curl as string, [...args, '-x', proxy(n % 2), `${site.origin}/${n}`]),
      )
      for (const { stdout, stderr } of await Promise.all(pages)) expect(stdout, stderr).toBe('200')
      await expect.poll(() => site.connections.every(({ to }) => to < Number.POSITIVE_INFINITY)).toBe(true)
      const [robots, ...tunnels] = site.connections // the fetcher keeps its own open for a while
      const { overlaps, least } = spacing(tunnels)
      expect(overlaps).toBe(0)
      expect(least).toBeGreaterThanOrEqual(TIMES.delayMs - 2)
      expect(tunnels).toHaveLength(6)
      expect(site.visits[0]?.path).toBe('/robots.txt')
      expect(robots?.from).toBeLessThan(Math.min(...tunnels.map(({ from }) => from)) - TIMES.delayMs)
    },
  )

  test('an idle tunnel is closed, so that the next one gets its turn; one whose site still works on an answer is not', async () => {
    const { proxy } = await fleet([])
    const { port } = new URL(proxy())
    const open = async (): Promise<{ closedAfterMs: Promise<number> }> => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(`CONNECT 127.0.0.1:${site.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const said = await new Promise<string>((resolve) => socket.once('data', (piece) => resolve(String(piece))))
      expect(said).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
      const begun = performance.now()
      return { closedAfterMs: new Promise((resolve) => socket.once('close', () => resolve(performance.now() - begun))) }
    }
    const first = await open()
    const [second, ms] = await Promise.all([open(), first.closedAfterMs])
    expect(ms).toBeGreaterThan(1_900)
    expect(ms).toBeLessThan(20_000)
    await second.closedAfterMs
  })

  test('a port that is not one of HTTPS, a guarded address, what is no host and port: each is refused with its reason', async () => {
    const { proxy } = await fleet([])
    const asked = async (target: string): Promise<string> =>
      say(proxy(), `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(await asked('127.0.0.1:2525')).toMatch(/^HTTP\/1\.1 403 [\s\S]*a tunnel leads to port 443/)
    expect(await asked('10.0.0.1:443')).toMatch(/^HTTP\/1\.1 403 [\s\S]*destination_ip_prohibited/)
    expect(await asked('[::1]:443')).toMatch(/^HTTP\/1\.1 403 [\s\S]*destination_ip_prohibited/)
    for (const bad of ['127.0.0.1', 'user@127.0.0.1:443', '127.0.0.1:0', '127.0.0.1:99999', 'http://127.0.0.1/', '/'])
      expect(await asked(bad), bad).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('a client that hangs up in a tunnel ends it, and one that hangs up while it waits leaves its place for a while', async () => {
    const { proxy } = await fleet([])
    const { port } = new URL(proxy())
    const before = site.connections.length
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`CONNECT 127.0.0.1:${site.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    const waiting = connect(Number(port), '127.0.0.1')
    waiting.write(`CONNECT 127.0.0.1:${site.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await sleep(100)
    waiting.destroy()
    socket.destroy()
    await expect.poll(() => site.connections.at(-1)?.to).toBeLessThan(Number.POSITIVE_INFINITY)
    await sleep(500)
    expect(site.connections.length).toBe(before + 1)
  })
})
