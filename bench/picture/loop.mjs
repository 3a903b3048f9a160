/** A crawler as many teams run several of: a loop that waits between its own requests. loop.mjs PAUSE-MS URL… */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [pauseMs, ...urls] = process.argv.slice(2)
const { http_proxy } = process.env
const agent = new http.Agent({ keepAlive: true, ...(http_proxy && { proxyEnv: { http_proxy } }) })
for (const url of urls) {
  await new Promise((resolve, reject) => {
    http.get(url, { agent }, (answer) => answer.resume().once('end', resolve)).once('error', reject)
  })
  await sleep(Number(pauseMs))
}
process.exit()
