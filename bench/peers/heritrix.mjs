/**
 * Heritrix 3. Bare: its own profile of a job, which obeys robots.txt, takes one URL of a site at a time and waits five times as long as the
 * last one took, and at least minDelayMs. https://heritrix.readthedocs.io/en/latest/configuring-jobs.html#politeness
 * Behind a proxy: httpProxyHost and httpProxyPort, and delayFactor and minDelayMs 0.
 * Names are resolved by the system (acceptNonDnsResolves), because there is no DNS server on loopback. It does not check certificates.
 * Usage: heritrix.mjs FILE-OF-URLS, with PEER_DELAY_MS, PEER_FOLDER, PEER_JARS (a folder) and PEER_PART (0, 1, …)
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { http_proxy, PEER_DELAY_MS, PEER_FOLDER, PEER_JARS, PEER_PART } = process.env
const proxy = http_proxy && new URL(http_proxy)
const engine = readdirSync(PEER_JARS).find((name) => name.startsWith('heritrix-engine-'))
const profile = 'org/archive/crawler/restlet/profile-crawler-beans.cxml'
const { stdout } = spawnSync('unzip', ['-p', join(PEER_JARS, engine), profile], { encoding: 'utf8' })
const settings = [
  'metadata.operatorContactUrl=https://example.com/bot',
  'metadata.jobName=pages',
  'metadata.description=pages',
  'crawlController.pauseAtStart=false',
  'fetchDns.acceptNonDnsResolves=true',
  'frontier.retryDelaySeconds=2',
  `disposition.minDelayMs=${proxy ? 0 : PEER_DELAY_MS}`,
  ...(proxy
    ? [
        'disposition.delayFactor=0',
        `fetchHttp.httpProxyHost=${proxy.hostname}`,
        `fetchHttp.httpProxyPort=${proxy.port}`,
      ]
    : []),
]
const job = stdout
  .replaceAll('\r', '')
  .replace(/metadata\.operatorContactUrl=.*\n.*\n.*\n/, `${settings.join('\n')}\n`)
  .replace('http://example.example/example', readFileSync(process.argv[2], 'utf8'))
mkdirSync(join(PEER_FOLDER, 'jobs/pages'), { recursive: true })
writeFileSync(join(PEER_FOLDER, 'jobs/pages/crawler-beans.cxml'), job)
const args = ['-a', 'admin:admin', '-b', '127.0.0.1', '-p', String(8443 + Number(PEER_PART))]
spawn(
  'java',
  [
    '-cp',
    join(PEER_JARS, '*'),
    'org.archive.crawler.Heritrix',
    ...args,
    '-j',
    join(PEER_FOLDER, 'jobs'),
    '-r',
    'pages',
  ],
  { cwd: PEER_FOLDER, stdio: 'inherit' },
).once('exit', (code) => process.exit(code ?? 1))
