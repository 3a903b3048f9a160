/** Fetches each URL with Crawlee, with or without Decorum: example.js PERMITS-URL|bare URL... */
import { Configuration, HttpCrawler, log, RequestQueue } from '@crawlee/http'
import { decorum } from './decorum.js'

const [url, ...urls] = process.argv.slice(2)
log.setLevel(log.LEVELS.OFF)
const config = new Configuration({ persistStorage: false })
const userAgent = 'journeybot/1 (+https://example.com/bot)'
const bare = {
  respectRobotsTxtFile: { userAgent: 'journeybot' },
  sameDomainDelaySecs: 0.1,
  preNavigationHooks: [(_, options) => Object.assign(options, { headers: { 'user-agent': userAgent } })],
}
const polite = async () =>
  decorum({
    url,
    patienceMs: 1_000 * Number(process.env.PATIENCE_S ?? 12),
    queue: await RequestQueue.open(null, { config }),
    onRefused: (request, { type }) => console.log(type, request.url),
  })

const crawler = new HttpCrawler(
  {
    ...(url === 'bare' ? bare : await polite()),
    minConcurrency: 10,
    maxConcurrency: 30,
    additionalMimeTypes: ['text/plain'],
    requestHandler: ({ request, response }) => console.log(response.statusCode, request.url, request.retryCount),
    failedRequestHandler: ({ request }, error) => console.log('failed', request.url, error.message),
  },
  config,
)
await crawler.run(urls)
process.exit()
