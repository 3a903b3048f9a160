/**
 * The crawlers of others that `npm run bench peers` runs, and which release of each. What a peer is set to stands in the first lines of its
 * own file, with a link to where its makers say so. Makers and users: a better setting is a welcome change to that file.
 */

export type Source =
  /** Python: a virtual environment of its own */
  | { from: 'pip'; packages: string[] }
  | { from: 'npm'; packages: string[] }
  | { from: 'go'; module: string }
  | { from: 'cargo'; dependencies: Record<string, string> }
  /** `group:artifact:version` each; `without`: `group:artifact` that the first one wants and that is not to be had in this version */
  | { from: 'maven'; artifacts: string[]; without?: string; main?: string }
  /** a program of the system, in whichever version it is there */
  | { from: 'system'; program: string }

export type Peer = {
  /** also how `--only` names it */
  key: string
  name: string
  /** of the release that is installed; of a program of the system it is read */
  version?: string
  /** in this folder */
  file: string
  source: Source
  /** a program that is needed beside it, of the system */
  program?: string
  /** of its own start, on a busy machine, ms: it has so much longer */
  startMs?: number
  /** what a reader of the table has to know */
  note: string
}

const OLD_JE = 'asks for a version of com.sleepycat:je that only its maker has; installed with a near one'

export const PEERS: readonly Peer[] = [
  {
    key: 'scrapy',
    name: 'Scrapy',
    version: '2.19.0',
    file: 'scrapy.py',
    source: { from: 'pip', packages: ['scrapy==2.19.0'] },
    note: 'robots option on, also through Decorum',
  },
  {
    key: 'crawlee',
    name: 'Crawlee',
    version: '3.18.1',
    file: 'crawlee.mjs',
    source: { from: 'npm', packages: ['@crawlee/cheerio@3.18.1'] },
    note: 'fetches robots.txt past its proxy, so its robots option is off through Decorum, and forbidden URLs are asked of the proxy',
  },
  {
    key: 'crawlee-python',
    name: 'Crawlee for Python',
    version: '1.11.0',
    file: 'crawlee-python.py',
    source: { from: 'pip', packages: ['crawlee[parsel]==1.11.0'] },
    note: 'robots option on, also through Decorum',
  },
  {
    key: 'crawl4ai',
    name: 'crawl4ai',
    version: '0.9.5',
    file: 'crawl4ai.py',
    source: { from: 'pip', packages: ['crawl4ai==0.9.5'] },
    startMs: 15_000,
    note: 'fetches robots.txt past its proxy, so its robots option is off through Decorum, and forbidden URLs are asked of the proxy',
  },
  {
    key: 'colly',
    name: 'colly',
    version: '2.3.0',
    file: 'colly.go',
    source: { from: 'go', module: 'github.com/gocolly/colly/v2@v2.3.0' },
    note: 'hangs up after 10 s and does not come back: a page that waits longer is lost to it',
  },
  {
    key: 'spider',
    name: 'spider',
    version: '2.53.9',
    file: 'spider.rs',
    source: { from: 'cargo', dependencies: { spider: '=2.53.9' } },
    note: 'robots option on, also through Decorum',
  },
  {
    key: 'simplecrawler',
    name: 'simplecrawler',
    version: '1.1.9',
    file: 'simplecrawler.mjs',
    source: { from: 'npm', packages: ['simplecrawler@1.1.9'] },
    note: 'its own proxy option speaks TLS to the proxy itself for HTTPS, so Node’s is used (NODE_USE_ENV_PROXY, which guard sets)',
  },
  {
    key: 'crawler',
    name: 'crawler (node-crawler)',
    version: '2.1.1',
    file: 'crawler.mjs',
    source: { from: 'npm', packages: ['crawler@2.1.1'] },
    note: 'reads no robots.txt',
  },
  {
    key: 'crawler4j',
    name: 'crawler4j',
    version: '4.4.0',
    file: 'Crawler4j.java',
    source: {
      from: 'maven',
      artifacts: ['edu.uci.ics:crawler4j:4.4.0', 'com.sleepycat:je:5.0.73'],
      without: 'com.sleepycat:je',
      main: 'Crawler4j',
    },
    note: OLD_JE,
  },
  {
    key: 'heritrix',
    name: 'Heritrix',
    version: '3.13.0',
    file: 'heritrix.mjs',
    source: {
      from: 'maven',
      artifacts: ['org.archive.heritrix:heritrix-engine:3.13.0', 'com.sleepycat:je:18.3.12'],
      without: 'com.sleepycat:je',
    },
    program: 'unzip',
    startMs: 20_000,
    note: OLD_JE,
  },
  {
    key: 'wget',
    name: 'wget',
    file: 'wget.sh',
    source: { from: 'system', program: 'wget' },
    note: 'does not read robots.txt for the URLs that it is given',
  },
  {
    key: 'curl',
    name: 'curl --parallel',
    file: 'curl.sh',
    source: { from: 'system', program: 'curl' },
    note: 'reads no robots.txt',
  },
  {
    key: 'chromium',
    name: 'headless Chromium',
    version: 'playwright-core 1.65.1',
    file: 'chromium.mjs',
    source: { from: 'npm', packages: ['playwright-core@1.65.1'] },
    program: 'chromium',
    startMs: 15_000,
    note: 'reads no robots.txt; asks its maker through any proxy in spite of its switches, which nothing here answers',
  },
  {
    key: 'aiohttp',
    name: 'aiohttp loop',
    version: '3.14.5',
    file: 'aiohttp.py',
    source: { from: 'pip', packages: ['aiohttp==3.14.5'] },
    note: 'a loop of our own, as many teams have one; urllib.robotparser reads a crawl-delay only in whole seconds',
  },
  {
    key: 'got',
    name: 'got loop',
    version: '16.1.0',
    file: 'got.mjs',
    source: { from: 'npm', packages: ['got@16.1.0'] },
    note: 'a loop of our own, as many teams have one; reads no robots.txt',
  },
]
