/** A worker that does one thing wrong in each situation: bad-worker.mjs PERMITS-URL POOL SITUATION=FAULT... */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [url, pool, ...pairs] = process.argv.slice(2)
const faults = Object.fromEntries(pairs.map((pair) => pair.split('=')))
let isStopping = false
if (faults.terminated === 'stubborn') process.on('SIGTERM', () => {})
else process.on('SIGTERM', () => (isStopping = true))

async function call(method, path, body) {
  const answer = await fetch(url + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch(() => undefined)
  return { status: answer?.status ?? 0, body: (await answer?.json().catch(() => undefined)) ?? {} }
}

/** @returns what to say of the exchange */
async function exchange(target, { method, headers, maxBytes }, { fault, signal }) {
  return new Promise((resolve) => {
    const own = fault === 'own-name' ? [['user-agent', 'Mozilla/5.0 (my own)']] : headers
    const failed = (error) => resolve({ reason: signal.aborted ? 'timeout' : 'reset', error: error.message })
    const sent = request(target, { method, signal, agent: false, headers: Object.fromEntries(own) }, (answer) => {
      const chunks = []
      let bytes = 0
      let truncated = ''
      const done = () => {
        const said = { status: answer.statusCode, truncated }
        said.headers = []
        for (let n = 0; n < answer.rawHeaders.length; n += 2) said.headers.push(answer.rawHeaders.slice(n, n + 2))
        const body = Buffer.concat(chunks)
        if (fault === 'greedy') said.digest = `sha1:${'A'.repeat(32)}`
        else said.body = body.subarray(0, maxBytes).toString('base64')
        resolve({
          ...said,
          bytes: fault === 'greedy' ? bytes : Math.min(bytes, maxBytes),
          location: answer.headers.location,
        })
      }
      answer.on('data', (chunk) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes <= maxBytes || fault === 'greedy') return
        truncated = 'length'
        answer.destroy()
        done()
      })
      answer.on('end', done)
      answer.on('error', () => {
        truncated ||= 'disconnect'
        done()
      })
    })
    sent.on('error', failed)
    sent.end()
  })
}

async function carryOut(order) {
  const fault = faults[order.id.split('.')[0]]
  if (fault === 'quits') process.exit(7)
  const path = `/v1/permits/${order.permit}`
  const over = new AbortController()
  const deadlineMs = fault === 'patient' ? 600_000 : (order.deadlineMs ?? 30_000)
  const timer = setTimeout(() => over.abort(), deadlineMs)
  const look = async () => {
    const { status, body } = await call('PATCH', path, {})
    if (fault !== 'deaf' && (status === 410 || body.stop !== undefined)) over.abort()
  }
  const keeper = setInterval(() => void look(), order.leaseMs / 3)
  if (fault === 'no-extension') clearInterval(keeper)
  const early = { status: 200, bytes: 0 }
  // Before its request, so that a busy machine cannot make it late: the answer ends as much later as the site is slow.
  if (fault === 'early') await call('POST', `${path}/completion`, early)
  let { location, ...said } = await exchange(order.url, order, { fault, signal: over.signal })
  if (fault === 'twice') await exchange(order.url, order, { fault, signal: over.signal })
  if (fault === 'follows' && location !== undefined) {
    const target = new URL(location, order.url)
    ;({ location, ...said } = await exchange(target, order, { fault, signal: over.signal }))
  }
  clearTimeout(timer)
  clearInterval(keeper)
  await call('POST', `${path}/completion`, said)
}

async function work() {
  while (!isStopping) {
    const { body } = await call('POST', `/v1/pools/${pool}/orders?waitMs=1000`)
    for (const order of body.orders ?? []) await carryOut(order)
    if (body.orders === undefined) await sleep(200)
  }
}
// It does not get over having been frozen.
if (Object.values(faults).includes('brittle')) process.on('SIGCONT', () => process.exit(1))
await Promise.all([work(), work(), work()])
