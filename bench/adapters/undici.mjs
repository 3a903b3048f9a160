/** The line of integrations/undici/README.md, and `fetch` for all URLs at once: undici.mjs PERMITS-URL FILE-OF-URLS */
import { readFileSync } from 'node:fs'
import { Agent, fetch, interceptors, setGlobalDispatcher } from 'undici'
import { decorum } from '../../integrations/undici/decorum.js'

const [url, file] = process.argv.slice(2)
setGlobalDispatcher(new Agent().compose(decorum({ url }), interceptors.redirect({ maxRedirections: 5 })))
const urls = readFileSync(file, 'utf8').trim().split('\n')
await Promise.all(urls.map(async (one) => (await fetch(one)).text()))
process.exit()
