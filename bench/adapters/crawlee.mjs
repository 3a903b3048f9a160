/** The line of integrations/crawlee/README.md, and nothing else: crawlee.mjs PERMITS-URL FILE-OF-URLS */
import { readFileSync } from 'node:fs'
import { Configuration, HttpCrawler, log, RequestQueue } from '@crawlee/http'
import { decorum } from '../../integrations/crawlee/decorum.js'

const [url, file] = process.argv.slice(2)
log.setLevel(log.LEVELS.OFF)
const config = new Configuration({ persistStorage: false })
const queue = await RequestQueue.open(null, { config })
const crawler = new HttpCrawler({ ...(await decorum({ url, queue })), requestHandler: () => undefined }, config)
await crawler.run(readFileSync(file, 'utf8').trim().split('\n'))
process.exit()
