import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '@decorum/audit'
import { startFleet } from '@decorum/cli'
import { freePort } from '@decorum/cli/local-redis/testing'
import { auditCommand } from '@decorum/cli/testing'
import { openFrontier } from '@decorum/client'
import type { Outcome } from '@decorum/protocol'
import { afterAll, expect, test } from 'vitest'
import { acceptsAt, programOf } from '../support/programs.ts'
import { redisForTest } from '../support/redis.ts'
import { fleetEnv, LONG_LEASES, TIMES } from './fleet.ts'

const redis = await redisForTest()
const folder = await mkdtemp(join(tmpdir(), 'decorum-other-'))
const servers: ChildProcess[] = []
afterAll(async () => {
  for (const server of servers) {
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
  await rm(folder, { recursive: true })
})

const ROBOTS = 'User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nCrawl-delay: 0.3\n'
const PAGES = ['index.html', 'a.html', 'b.html', 'paper.pdf', 'private/letter.html']

/** A server that is not ours, its site and its log. */
type Other = { origin: string /** the same visits, in as many formats */; logs: string[] }

async function site(): Promise<string> {
  const root = join(folder, 'site')
  await mkdir(join(root, 'private'), { recursive: true })
  await writeFile(join(root, 'robots.txt'), ROBOTS)
  for (const page of PAGES) await writeFile(join(root, page), `<title>${page}</title>`)
  // nginx started by root serves as another user
  for (const path of [folder, root, join(root, 'private')]) await chmod(path, 0o755)
  return root
}

/** The block of docs/audit.md in that language: what readers paste is what is tested. */
async function documented(language: string): Promise<string> {
  const page = await readFile(new URL('../../docs/audit.md', import.meta.url), 'utf8')
  return new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? ''
}

/** nginx as docs/audit.md configures its log, in both forms. */
async function nginx(program: string): Promise<Other> {
  const [root, port] = [await site(), await freePort()]
  const log = join(folder, 'nginx.log')
  const conf = join(folder, 'nginx.conf')
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  await writeFile(
    conf,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events { worker_connections 64; }
http { ${temp}
  ${await documented('nginx')}
  access_log ${log} decorum; access_log ${log}.json decorum_json;
  server { listen 127.0.0.1:${port}; root ${root}; index index.html;
    location /moved { return 301 /a.html; } }
}`,
  )
  const server = spawn(program, ['-c', conf, '-p', folder, '-e', join(folder, 'error.log')], { stdio: 'inherit' })
  servers.push(server)
  await acceptsAt(server, port)
  return { origin: `http://127.0.0.1:${port}`, logs: [log, `${log}.json`] }
}

/** python3's http.server, which logs no times of its own: its log line is written in nginx's format. */
async function python(program: string): Promise<Other> {
  const [root, port] = [await site(), await freePort()]
  const log = join(folder, 'python.log')
  const script = `
import http.server, time
class H(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *a): super().__init__(*a, directory=${JSON.stringify(root)})
    def parse_request(self):
        self.began = time.time()
        return super().parse_request()
    def do_GET(self):
        if self.path == '/moved':
            self.send_response(301); self.send_header('Location', '/a.html'); self.send_header('Content-Length', '0'); self.end_headers()
        else: super().do_GET()
    def log_request(self, code='-', size='-'):
        now = time.time()
        out.write('%s - - [x] "%s" %d 0 "-" "%s" %.3f %.3f http://%s "-" "-"\\n' % (self.client_address[0], self.requestline, int(code), self.headers.get('User-Agent', '-'), int(now * 1000) / 1000, (int(now * 1000) - int(self.began * 1000)) / 1000, self.headers.get('Host')))
        out.flush()
out = open(${JSON.stringify(log)}, 'a')
http.server.ThreadingHTTPServer(('127.0.0.1', ${port}), H).serve_forever()
`
  const server = spawn(program, ['-c', script], { stdio: 'ignore' })
  servers.push(server)
  await acceptsAt(server, port)
  return { origin: `http://127.0.0.1:${port}`, logs: [log] }
}

const programs: [name: string, program: string | undefined, start: (program: string) => Promise<Other>][] = [
  ['nginx', programOf('nginx'), nginx],
  ["python3's http.server", programOf('python3'), python],
]

for (const [name, program, start] of programs) {
  // What the machine does not have cannot be asked; the last test wants one of them.
  test.skipIf(program === undefined)(
    `a site served by ${name}: robots.txt obeyed, silence kept, by its own access log`,
    async () => {
      const { origin, logs } = await start(program ?? '')
      const fleet = await startFleet({ env: fleetEnv(redis.url, LONG_LEASES), gateways: 1, fetchers: 2 })
      const frontier = await openFrontier({ redis: redis.url })
      try {
        const paths = [...PAGES.map((page) => `/${page}`), '/moved', '/absent.html']
        await frontier.enqueue(paths.map((path) => ({ id: `${origin}${path}`, url: origin + path })))
        const byPath = new Map<string, Outcome>()
        for await (const { outcome, ack } of frontier.outcomes({ group: origin.slice(7) })) {
          if (outcome.url.startsWith(origin))
            byPath.set(`${outcome.url.slice(origin.length)}${outcome.id.includes('~') ? ' (target)' : ''}`, outcome)
          await ack()
          if (byPath.size === paths.length + 1) break
        }
        const kinds = Object.fromEntries(
          [...byPath].map(([path, outcome]) => [path, outcome.kind === 'fetched' ? outcome.status : outcome.kind]),
        )
        expect(kinds).toEqual({
          '/index.html': 200,
          '/a.html': 200,
          '/b.html': 200,
          '/paper.pdf': 'disallowed',
          '/private/letter.html': 'disallowed',
          '/moved': 'redirected',
          '/a.html (target)': 200,
          '/absent.html': 404,
        })
      } finally {
        await frontier.close()
        await fleet.stop(5_000)
      }

      const robots = join(folder, 'robots')
      await mkdir(robots, { recursive: true })
      await writeFile(join(robots, 'robots.txt'), ROBOTS)
      for (const log of logs) {
        const said: string[] = []
        const judged = (delayMs: number) =>
          auditCommand([log], { robots, delayMs, maxDelayMs: TIMES.capMs, json: true }, (text) => said.push(text))
        const code = await judged(TIMES.delayMs)
        const report = JSON.parse(said[0]!) as Report
        expect(report.examples).toEqual([])
        expect(report).toMatchObject({ total: 0, requests: 7, robotsFetches: { all: 1 }, unjudged: 0 })
        expect(report.statuses).toEqual({ 200: 5, 301: 1, 404: 1 })
        expect(report.lanes[0]!.delayMs).toEqual({ least: 300, most: 300 })
        expect(code).toBe(0)
        expect(await judged(5_000), 'the same log against a promise that nobody gave').toBe(1)
      }
    },
  )
}

test('at least one of these servers is installed', () => {
  expect(programs.filter(([, program]) => program !== undefined).map(([name]) => name)).not.toEqual([])
})
