/** Fetches each URL, all at once, as each may go: example.js PERMITS-URL|bare URL... */
import { Agent, interceptors, request } from 'undici'
import { decorum } from './decorum.js'

const [url, ...urls] = process.argv.slice(2)
const redirect = interceptors.redirect({ maxRedirections: 5 })
const dispatcher =
  url === 'bare'
    ? new Agent().compose(redirect)
    : new Agent().compose(decorum({ url, patienceMs: 1_000 * Number(process.env.PATIENCE_S ?? 12) }), redirect)
const headers = { 'user-agent': 'journeybot/1 (+https://example.com/bot)' }

await Promise.all(
  urls.map(async (at) => {
    try {
      const { statusCode, body } = await request(at, { dispatcher, headers })
      await body.dump()
      console.log(statusCode, at)
    } catch (error) {
      console.log(error.code ?? error.message, at)
    }
  }),
)
process.exit()
