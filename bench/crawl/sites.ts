/**
 * Sites as most of the web serves them: one nginx of one process, and an address of 127.40.0.0/16 for each site. Its log is the record:
 * when each request of a site began and ended, to the millisecond.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@decorum/cli/local-redis/testing'
import type { Exchange } from '../frame/pace.ts'

/** One request for a page, ms since 1970. */
export type Visit = Exchange & { site: string; status: number }

export type Sites = {
  /** `http://127.40.…`, in the order of their numbers */
  origins: string[]
  pid: number
  /** of pages alone, by end; robots.txt is left out */
  visits(): Promise<Visit[]>
  stop(): Promise<void>
}

const RULES = 'User-agent: *\\nDisallow: /no\\n'

/**
 * @param folder  an empty one of the caller's
 * @param bytes   of each page
 * @throws when there is no nginx on the PATH
 */
export async function startSites(folder: string, count: number, bytes: number): Promise<Sites> {
  const root = join(folder, 'root')
  await mkdir(root)
  await writeFile(join(root, 'page'), pageOf(bytes))
  for (const path of [folder, root]) await chmod(path, 0o755) // started by root, nginx serves as another user
  const port = await freePort()
  const log = join(folder, 'visits.log')
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; worker_rlimit_nofile 65536; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events { worker_connections 40000; }
http { ${temp.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  open_file_cache max=10; sendfile on; tcp_nopush on; keepalive_requests 100000;
  log_format visit '$server_addr $msec $request_time $status $uri';
  access_log ${log} visit buffer=64k flush=1s;
  server { listen 0.0.0.0:${port} backlog=4096; root ${root};
    location = /robots.txt { return 200 '${RULES}'; }
    location / { default_type text/html; try_files /page =404; } } }`,
  )
  const server = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')])
  const gone = once(server, 'exit')
  gone.catch(() => undefined) // there is no nginx: said below
  const lost = new Promise<never>((_, reject) => {
    server.once('error', () => reject(new Error('this bench needs nginx on the PATH (apt-get install nginx)')))
  })
  await Promise.race([answers(`http://127.0.0.1:${port}/robots.txt`), lost])
  return {
    origins: Array.from({ length: count }, (_, n) => `http://127.40.${n >> 8}.${n & 255}:${port}`),
    pid: server.pid as number,
    async visits() {
      await sleep(1_500) // what nginx holds back is written within a second
      const lines = (await readFile(log, 'utf8')).split('\n')
      return lines.flatMap((line) => {
        const [site = '', at, took, status, path] = line.split(' ')
        if (path === undefined || path === '/robots.txt') return []
        const end = Number(at) * 1_000
        return [{ site, start: end - Number(took) * 1_000, end, status: Number(status) }]
      })
    },
    async stop() {
      server.kill('SIGTERM')
      await gone
    },
  }
}

/** A page as sites have them: what it says of itself in its head, then text. */
function pageOf(bytes: number): string {
  const head = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page of the bench</title>
<meta name="viewport" content="width=device-width"><meta name="robots" content="index, follow">
<link rel="canonical" href="/page"><link rel="stylesheet" href="/style.css"></head><body>`
  const text = '<p>Some words, and a <a href="/other">link</a> to another page.</p>\n'
  const end = '</body></html>'
  return `${(head + text.repeat(Math.ceil(bytes / text.length))).slice(0, bytes - end.length)}${end}`
}

async function answers(url: string): Promise<void> {
  for (;;) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    if (ok) return
    await sleep(50)
  }
}
