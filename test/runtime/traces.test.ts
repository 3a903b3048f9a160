/** Traces: what is loaded without them, and which URLs have spans. That a trace goes through a fleet: test/readme/readme.test.ts. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { openTraces } from '@decorum/runtime'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url)

test('without a collector no role and no frontier loads anything of OpenTelemetry', async () => {
  const program = `
    import { registerHooks } from 'node:module'
    const asked = new Set()
    registerHooks({ resolve: (name, context, next) => { asked.add(name); return next(name, context) } })
    await Promise.all(['gateway', 'fetcher', 'console', 'permits', 'client'].map((role) => import('@decorum/' + role)))
    const { openTraces } = await import('@decorum/runtime')
    const span = (await openTraces('gateway', '0', '')).span('x', { traceparent: '00-${'a'.repeat(32)}-${'b'.repeat(16)}-01' })
    console.log(JSON.stringify({ asked: [...asked].filter((name) => name.includes('opentelemetry')), span: span ?? 'none' }))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: ROOT })
  expect(JSON.parse(stdout)).toEqual({ asked: [], span: 'none' })
})

test('only URLs of a sampled trace have spans, and the last of them are sent when the process stops', async () => {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(`${request.url} ${body}`)
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const traces = await openTraces('gateway', '1.2.3', `http://127.0.0.1:${port}/`)
  const of = (flags: string) => ({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-${flags}` })
  expect(traces.span('none', undefined)).toBeUndefined()
  expect(traces.span('none', {})).toBeUndefined()
  expect(traces.span('none', { traceparent: 'nonsense' })).toBeUndefined()
  traces.span('not-sampled', of('00'))?.end()
  traces.span('sampled', of('01'), () => ({ a: 1 }))?.end(new Error('it broke off'))
  await traces.stop()
  server.close()
  expect(bodies).toHaveLength(1)
  expect(bodies[0]).toMatch(/^\/v1\/traces .*"decorum-gateway".*"sampled".*"it broke off|^\/v1\/traces .*it broke off/)
  expect(bodies[0]).not.toContain('not-sampled')
})

test('a collector that is away holds up no stop', async () => {
  const traces = await openTraces('gateway', '1', 'http://127.0.0.1:1')
  traces.span('lost', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })?.end()
  await traces.stop()
})
