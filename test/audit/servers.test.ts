/**
 * Logs that real servers wrote, each in the formats of docs/audit.md: the auditor recognises them by themselves and judges
 * them alike. A machine without a server skips it; DECORUM_REQUIRE_SERVERS names those that must be there.
 */

import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '@decorum/audit'
import { auditCommand } from '@decorum/cli/testing'
import { afterAll, expect, test } from 'vitest'
import { programOf } from '../support/programs.ts'
import { type Running, SERVERS, type ServerName, startServer } from './support/servers.ts'

const required = (process.env.DECORUM_REQUIRE_SERVERS ?? '').split(/[ ,]+/)
const folder = await mkdtemp(join(tmpdir(), 'decorum-servers-'))
await chmod(folder, 0o755) // a server that root starts reads it as another user
afterAll(() => rm(folder, { recursive: true, force: true }))

const AGENT = 'Mozilla/5.0 (compatible; realbot/1.0; +https://example.com/bot)'

/** One exchange on a connection of its own, bytes as given; resolves when the server has closed it. */
async function exchange({ host, port }: Running, bytes: string): Promise<string> {
  const socket = connect(port, host)
  let answer = ''
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  socket.end(Buffer.from(bytes, 'latin1'))
  await once(socket, 'close')
  return answer
}
const get = (server: Running, path: string): Promise<string> =>
  exchange(
    server,
    `GET ${path} HTTP/1.1\r\nHost: ${server.host}:${server.port}\r\nUser-Agent: ${AGENT}\r\nConnection: close\r\n\r\n`,
  )

/** Octets of é as a careless client sends them, and as it should. */
const PATHS = [
  '/robots.txt',
  '/a.html',
  '/moved',
  '/private.html',
  '/\xc3\xa9.html',
  '/%C3%A9.html',
  '/busy',
  '/b.html',
]

/** Until the log holds so many lines: it is written after the answer. */
async function written(file: string, lines: number): Promise<void> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '')
    if (text.split('\n').length > lines) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test.each(SERVERS)('logs written by %s', async (name: ServerName) => {
  const binary = programOf(name)
  if (binary === undefined && !required.includes(name)) {
    console.log(`skipped: no ${name} on this machine`)
    return
  }
  const own = await mkdtemp(join(folder, `${name}-`))
  const server = await startServer(name, binary ?? name, own)
  try {
    for (const path of PATHS) await get(server, path)
    await exchange(server, '\x16\x03\x01\x02\x00junk of a scanner\r\n\r\n')
    await get(server, '/a.html')
    const robots = await mkdtemp(join(own, 'robots-'))
    await writeFile(join(robots, 'robots.txt'), await readFile(join(own, 'site/robots.txt')))
    for (const { file, format, options, coarse } of server.logs) {
      await written(file, PATHS.length + 1)
      const said: string[] = []
      // With a delay of an hour all that follows the first request is too early, however busy this machine is.
      const given = { ...options, robots, json: true, agent: 'realbot', delayMs: 3_600_000, maxDelayMs: 3_600_000 }
      const code = await auditCommand([file], given, (text) => said.push(text))
      const report = JSON.parse(said.join('')) as Report
      const judged = { code, requests: report.requests, setAside: report.setAside.examples, origins: report.origins }
      expect(judged, file).toEqual({ code: 1, requests: PATHS.length + 1, setAside: [], origins: 1 })
      expect(report.logs[0]?.format).toBe(format)
      expect(report.violations, file).toMatchObject({
        'short-delay': PATHS.length,
        overlap: 0,
        disallowed: 3,
        'before-rules': 0,
        // /b.html and /a.html after /busy; a format without headers does not hold its Retry-After
        'in-back-off': coarse ? 0 : 2,
      })
      expect(report.statuses, file).toMatchObject({ 302: 1, 429: 1 })
    }
  } finally {
    await server.stop()
  }
})
