/** HTTPS as tunnels: refused unless asked for, and then one at a time, with the delay of the site between them. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as tlsConnect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { TIMES } from '../permits/fleet.ts'
import { installed, run, sharedProxyFleet } from './fleet.ts'
import { CA_FILE, spacing, tlsSite } from './tls-site.ts'

const curl = installed('curl')
const site = await tlsSite((_, response) => void response.end('page'), { robots: 'User-agent: *\nDisallow: /no\n' })

const trickling = await tlsSite(
  (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 100)
    response.once('close', () => clearInterval(timer))
  },
  { robots: '' },
)

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
      // The site, which is in this process, sees the end of a connection late where the machine is busy.
      expect(least).toBeGreaterThanOrEqual(TIMES.delayMs - 20)
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

describe('a proxy that is ended', () => {
  const fleet = sharedProxyFleet({
    proxies: 2,
    env: { PROXY_TUNNELS: 'yes', DECORUM_ALLOW_PORTS: String(trickling.port), NODE_EXTRA_CA_CERTS: CA_FILE },
  })

  test('closes a tunnel that is busy when its time to end is over, and the next one waits for the delay alone', async () => {
    const { origin, connections } = trickling
    const { fleet: processes, proxy } = await fleet([])
    const target = new URL(origin).host
    const open = async (n: number): Promise<Socket> => {
      const socket = connect(Number(new URL(proxy(n)).port), '127.0.0.1')
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const [head] = (await once(socket, 'data')) as [Buffer]
      expect(String(head)).toMatch(/^HTTP\/1\.1 200 /)
      return socket
    }
    const tunnel = await open(0)
    const client = tlsConnect({ socket: tunnel, ca: readFileSync(CA_FILE), servername: '' })
    await once(client, 'secureConnect')
    client.write(`GET / HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    await once(client, 'data')
    const ofTunnel = connections.length - 1
    const closed = once(
      client.resume().on('error', () => undefined),
      'close',
    )
    process.kill(processes.of('proxy')[0]?.pid ?? Number.NaN, 'SIGTERM')
    await closed
    const next = await open(1) // a lease that nobody ended would hold the lane for a minute, and for a quarantine after that
    expect(performance.now() - (connections[ofTunnel]?.to ?? 0)).toBeLessThan(30_000)
    next.destroy()
  })
})
