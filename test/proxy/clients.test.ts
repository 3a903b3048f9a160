/** Clients of other makers, unchanged, through a proxy that stands and under `decorum guard`: over plain HTTP and over HTTPS that is looked into. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { decorum } from '../cli/decorum.ts'
import { TIMES } from '../permits/fleet.ts'
import { get, installed, type Ran, run, sharedProxyFleet } from './fleet.ts'
import { CA_FILE, spacing, type TlsSite, tlsSite } from './tls-site.ts'

/** What a client is run with: the address of the proxy, a file with the authority, and a folder of its own. */
type Given = { proxy: string; ca: string; folder: string; urls: string[] }
type Client = { program: string | undefined; fetch: (given: Given, program: string) => Promise<Ran> }

const env = ({ proxy, ca }: Given): NodeJS.ProcessEnv => ({
  ...{ http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, no_proxy: '', NO_PROXY: '' },
  ...{ SSL_CERT_FILE: ca, REQUESTS_CA_BUNDLE: ca },
})

/** As docs/proxy.md has it. */
const SPKI =
  'openssl x509 -in "$CA" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64'
const chromium = (args: string): string =>
  `exec "$CHROMIUM" --headless --no-sandbox --disable-gpu --user-data-dir="$DIR" --ignore-certificate-errors-spki-list="$(${SPKI})" ${args} --proxy-bypass-list='<-loopback>' --dump-dom "$URL"`

// By its own ProxyFromEnvironment Go sends no request for a loopback address through any proxy
const GO = `package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
)

func main() {
	proxy, _ := url.Parse(os.Getenv("http_proxy"))
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), ForceAttemptHTTP2: true}}
	for _, address := range os.Args[1:] {
		answer, err := client.Get(address)
		if err != nil {
			panic(err)
		}
		fmt.Println(answer.StatusCode, answer.Proto)
	}
}
`
const JAVA = `import java.net.URI;
import java.net.http.*;

class Get {
  public static void main(String[] args) throws Exception {
    for (var address : args) {
      var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(address)).build(), HttpResponse.BodyHandlers.ofString());
      System.out.println(answer.statusCode() + " " + answer.version());
    }
  }
}
`

function pythonWith(module: string): string | undefined {
  const python = installed('python3')
  if (python === undefined || spawnSync(python, ['-c', `import ${module}`]).status === 0) return python
  process.stdout.write(`skipped: Python has no ${module} here\n`)
  return undefined
}

const CLIENTS: Record<string, Client> = {
  wget: {
    program: installed('wget'),
    fetch: (given, wget) =>
      run(wget, ['-q', '-S', '-O', '/dev/null', `--ca-certificate=${given.ca}`, ...given.urls], env(given)).then(
        ({ stderr, ...ran }) => ({ ...ran, stdout: stderr, stderr }),
      ),
  },
  urllib: {
    program: installed('python3'),
    fetch: (given, python) =>
      run(
        python,
        ['-c', 'import sys, urllib.request as u\nfor url in sys.argv[1:]: print(u.urlopen(url).status)', ...given.urls],
        env(given),
      ),
  },
  requests: {
    program: pythonWith('requests'),
    fetch: (given, python) =>
      run(
        python,
        ['-c', 'import sys, requests\nfor url in sys.argv[1:]: print(requests.get(url).status_code)', ...given.urls],
        env(given),
      ),
  },
  go: {
    program: installed('go'),
    async fetch(given, go) {
      const file = join(given.folder, 'get.go')
      await writeFile(file, GO)
      return run(go, ['run', file, ...given.urls], { ...env(given), GO111MODULE: 'off', GOTOOLCHAIN: 'local' })
    },
  },
  java: {
    program: installed('java') && installed('keytool'),
    async fetch({ proxy, ca, folder, urls }, keytool) {
      const [file, store] = [join(folder, 'Get.java'), join(folder, 'trust.p12')]
      await writeFile(file, JAVA)
      const stored = ['-keystore', store, '-storepass', 'changeit', '-storetype', 'PKCS12']
      await run(keytool, ['-importcert', '-noprompt', '-alias', 'decorum', '-file', ca, ...stored])
      const { hostname, port } = new URL(proxy)
      const via = ['http', 'https'].flatMap((one) => [`-D${one}.proxyHost=${hostname}`, `-D${one}.proxyPort=${port}`])
      const trust = [`-Djavax.net.ssl.trustStore=${store}`, '-Djavax.net.ssl.trustStorePassword=changeit']
      return run(installed('java') ?? '', [...via, '-Dhttp.nonProxyHosts=', ...trust, file, ...urls])
    },
  },
  chromium: {
    program: installed('chromium'),
    // It prints one page for each run
    async fetch({ proxy, ca, folder, urls }, program) {
      const printed: Ran[] = []
      for (const url of urls)
        printed.push(
          await run('/bin/sh', ['-c', chromium(`--proxy-server="${proxy}"`)], {
            ...{ CHROMIUM: program, DIR: folder, CA: ca, URL: url, HOME: folder },
          }),
        )
      const all = (of: (one: Ran) => string): string => printed.map(of).join('')
      return { code: 0, stdout: all(({ stdout }) => stdout), stderr: all(({ stderr }) => stderr) }
    },
  },
}

const folderOfTest = async (): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'decorum-clients-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

/** A page with two more things to fetch, for whoever does. */
const pages = (): Promise<TlsSite> =>
  tlsSite(
    (request, response) =>
      request.url.startsWith('/by-')
        ? void response
            .writeHead(200, { 'content-type': 'text/html' })
            .end('<title>200</title><img src="/a.png"><script src="/b.js"></script><img src="/no/c.png">')
        : void response.writeHead(200).end(),
    { robots: 'User-agent: *\nDisallow: /no\n' },
  )

const there = Object.entries(CLIENTS).flatMap(([name, { program, fetch }]) =>
  program === undefined ? [] : [[name, (given: Given) => fetch(given, program)] as const],
)

describe('through a proxy that stands', () => {
  const fleet = sharedProxyFleet({ env: { PROXY_CA: 'memory', NODE_EXTRA_CA_CERTS: CA_FILE } })

  test.each(there)(
    '%s: plain HTTP, and HTTPS that is looked into, in turn and under the rules of the site',
    async (name, fetch) => {
      const { web, proxy, expectPolite } = await fleet([
        { name: 'plain', paths: { [`/by-${name}`]: { body: '<title>200</title>' } } },
      ])
      const folder = await folderOfTest()
      const ca = join(folder, 'ca.pem')
      await writeFile(ca, (await get(proxy(), '/v1/ca.pem')).body)
      const site = await pages()
      const urls = [web.origins.plain as string, site.origin].map((origin) => `${origin}/by-${name}`)
      const { stdout, stderr } = await fetch({ proxy: proxy(), ca, folder, urls })
      expect(stdout.match(/\b200\b/g)?.length, stdout + stderr).toBe(2)
      await expectPolite()
      expect(site.visits.map(({ path }) => path)).toEqual(
        name === 'chromium'
          ? expect.arrayContaining(['/robots.txt', '/by-chromium', '/a.png', '/b.js'])
          : ['/robots.txt', `/by-${name}`],
      )
      expect(site.visits.map(({ path }) => path)).not.toContain('/no/c.png')
      const { overlaps, least } = spacing(site.visits)
      expect(overlaps).toBe(0)
      expect(least).toBeGreaterThanOrEqual(TIMES.delayMs - 2)
    },
  )
})

describe('under decorum guard', () => {
  const given = { NODE_EXTRA_CA_CERTS: CA_FILE, DEFAULT_DELAY_MS: String(TIMES.delayMs) }

  /** A line of the shell for each, as docs/proxy.md has it where the client reads no variable of the environment. */
  const LINES = {
    requests: `python3 -c 'import sys, requests; print(requests.get(sys.argv[1]).status_code)' "$URL"`,
    go: `cd "$SOURCES" && GO111MODULE=off GOTOOLCHAIN=local go run get.go "$URL"`,
    java: `cd "$SOURCES" && keytool -importcert -noprompt -alias decorum -file "$NODE_EXTRA_CA_CERTS" -keystore trust.p12 -storetype PKCS12 -storepass changeit &&
      port="\${http_proxy##*:}" && java -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=$port -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=$port -Dhttp.nonProxyHosts= \
      -Djdk.http.auth.tunneling.disabledSchemes= -Djavax.net.ssl.trustStore=trust.p12 -Djavax.net.ssl.trustStorePassword=changeit Get.java "$URL"`,
  }

  test.each(Object.entries(LINES).filter(([name]) => CLIENTS[name]?.program !== undefined))(
    '%s trusts the authority of its guard',
    async (name, line) => {
      const [site, sources] = [await pages(), await folderOfTest()]
      await writeFile(join(sources, 'get.go'), GO)
      await writeFile(join(sources, 'Get.java'), JAVA)
      const env = { ...given, SOURCES: sources, URL: `${site.origin}/by-${name}` }
      const { code, stdout, stderr } = await decorum(['guard', '--', '/bin/sh', '-c', line], { env })
      expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/^200\b/m)])
      expect(site.visits.map(({ path }) => path)).toEqual(['/robots.txt', `/by-${name}`])
      expect(stderr).toMatch(/1 request: 1 sent, 0 refused/)
    },
  )

  test.skipIf(CLIENTS.chromium?.program === undefined)(
    'chromium, which is told by one line of the shell, fetches a page and what belongs to it',
    async () => {
      const site = await pages()
      const folder = await folderOfTest()
      const line = `CA="$NODE_EXTRA_CA_CERTS"; ${chromium('--proxy-server="$http_proxy"')}`
      const { code, stdout, stderr } = await decorum(['guard', '--hosts', '127.0.0.1', '--', '/bin/sh', '-c', line], {
        env: { ...given, CHROMIUM: CLIENTS.chromium?.program ?? '', DIR: folder, URL: `${site.origin}/by-chromium` },
      })
      expect([code, stdout], stderr).toEqual([0, expect.stringContaining('<title>200</title>')])
      const { overlaps, least } = spacing(site.visits)
      expect([overlaps, site.visits.length >= 4]).toEqual([0, true])
      expect(least).toBeGreaterThanOrEqual(TIMES.delayMs - 2)
      expect(site.visits.map(({ path }) => path)).not.toContain('/no/c.png')
      expect(stderr).toMatch(/1 disallowed/)
    },
  )
})
