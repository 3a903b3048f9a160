/** Web servers that are not ours, as Debian has them, each with the log formats that docs/audit.md names. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@decorum/cli/local-redis/testing'
import { acceptsAt } from '../../support/programs.ts'

export type Logged = { file: string; format: string; options: { origin?: string }; coarse?: boolean }
export type Running = { port: number; host: string; logs: Logged[]; stop(): Promise<void> }

export const SERVERS = ['nginx', 'apache2', 'caddy'] as const
export type ServerName = (typeof SERVERS)[number]

/** The formats of the reader's page, as they stand there. */
const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/audit.md'), 'utf8')
const fromPage = (start: string): string => PAGE.split('\n').find((line) => line.startsWith(start)) ?? ''

export const HOST = '127.93.14.1'

/** Starts a server on a free port. Its site: robots.txt, pages, /busy (429, Retry-After), /moved (302). */
export async function startServer(name: ServerName, binary: string, folder: string): Promise<Running> {
  const root = join(folder, 'site')
  await mkdir(root, { recursive: true })
  await writeFile(join(root, 'robots.txt'), 'User-agent: *\nDisallow: /private\nDisallow: /é\n')
  for (const page of ['a.html', 'b.html', 'private.html', 'é.html']) await writeFile(join(root, page), page)
  await chmod(folder, 0o755)
  const port = await freePort()
  const { args, logs } = await CONFIGURE[name]({ folder, root, port })
  const server = spawn(binary, args, { stdio: 'ignore', env: { ...process.env, HOME: folder } })
  await acceptsAt(server, port, HOST)
  return {
    port,
    host: HOST,
    logs,
    stop: async () => {
      if (server.exitCode !== null) return
      server.kill('SIGTERM')
      await once(server, 'exit')
    },
  }
}

type Setting = { folder: string; root: string; port: number }
type Configured = { args: string[]; logs: Logged[] }

const CONFIGURE: Record<ServerName, (setting: Setting) => Promise<Configured>> = {
  async nginx({ folder, root, port }) {
    const [text, json] = [fromPage('log_format decorum '), fromPage('log_format decorum_json ')]
    const own = `log_format own escape=json '{"msec":"$msec","request_time":"$request_time","request_method":"$request_method","request_uri":"$request_uri","status":"$status","http_user_agent":"$http_user_agent","scheme":"$scheme","http_host":"$http_host","sent_http_retry_after":"$sent_http_retry_after","sent_http_location":"$sent_http_location"}';`
    const config = join(folder, 'nginx.conf')
    const log = (file: string): string => join(folder, file)
    await writeFile(
      config,
      `daemon off; worker_processes 2; pid ${log('nginx.pid')}; error_log ${log('error.log')};
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 64; }
http {
  ${text}
  ${json}
  ${own}
  client_body_temp_path ${log('t1')}; proxy_temp_path ${log('t2')}; fastcgi_temp_path ${log('t3')}; uwsgi_temp_path ${log('t4')}; scgi_temp_path ${log('t5')};
  server {
    listen ${HOST}:${port}; root ${root};
    access_log ${log('text.log')} decorum; access_log ${log('json.log')} decorum_json; access_log ${log('own.log')} own;
    access_log ${log('combined.log')} combined;
    location = /busy { add_header Retry-After 120 always; return 429; }
    location = /moved { return 302 /a.html; }
  }
}
`,
    )
    return {
      args: ['-c', config, '-p', folder],
      logs: [
        { file: log('text.log'), format: 'nginx', options: {} },
        { file: log('json.log'), format: 'nginx, JSON', options: {} },
        { file: log('own.log'), format: 'nginx, JSON', options: {} },
        {
          file: log('combined.log'),
          format: 'combined, whole seconds',
          options: { origin: `http://${HOST}:${port}` },
          coarse: true,
        },
      ],
    }
  },
  async apache2({ folder, root, port }) {
    const modules = '/usr/lib/apache2/modules'
    const config = join(folder, 'apache.conf')
    const log = (file: string): string => join(folder, file)
    const format = fromPage('LogFormat')
    const old = format.replace('http://%{Host}i', '%{REQUEST_SCHEME}e://%{Host}i').replace(/decorum$/, 'old')
    await writeFile(
      config,
      `ServerRoot ${folder}
Listen ${HOST}:${port}
ServerName site.test
PidFile ${log('apache.pid')}
ErrorLog ${log('error.log')}
LoadModule mpm_event_module ${modules}/mod_mpm_event.so
LoadModule authz_core_module ${modules}/mod_authz_core.so
LoadModule alias_module ${modules}/mod_alias.so
LoadModule headers_module ${modules}/mod_headers.so
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
DocumentRoot ${root}
${format}
${old}
LogFormat "%v:%p %h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" vhost_combined
CustomLog ${log('own.log')} decorum
CustomLog ${log('old.log')} old
CustomLog ${log('vhost.log')} vhost_combined
Redirect 302 /moved /a.html
Redirect 429 /busy
<Location /busy>
  Header always set Retry-After 120
</Location>
`,
    )
    return {
      args: ['-X', '-f', config],
      logs: [
        { file: log('own.log'), format: 'Apache', options: {} },
        { file: log('old.log'), format: 'Apache', options: {} },
        { file: log('vhost.log'), format: 'combined, whole seconds', options: {}, coarse: true },
      ],
    }
  },
  async caddy({ folder, root, port }) {
    const config = join(folder, 'Caddyfile')
    const log = join(folder, 'access.log')
    await writeFile(
      config,
      `{
  admin off
  auto_https off
}
http://${HOST}:${port} {
  root * ${root}
  log {
    output file ${log}
  }
  redir /moved /a.html 302
  header /busy Retry-After 120
  respond /busy 429
  file_server
}
`,
    )
    return {
      args: ['run', '--config', config, '--adapter', 'caddyfile'],
      logs: [{ file: log, format: 'Caddy, JSON', options: {} }],
    }
  },
}
