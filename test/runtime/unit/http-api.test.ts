/** The HTTP stack that console and permits share: who may ask, how much is read, and one form of problem. */
import { once } from 'node:events'
import { openHttpApi, Problem, readBySchemas } from '@decorum/runtime/http-api'
import { openApi, problem } from '@decorum/runtime/openapi'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

const route = {
  method: 'POST',
  url: '/things/:name',
  schema: {
    operationId: 'make',
    summary: 'Makes a thing',
    params: z.object({ name: z.string().max(5) }),
    body: z.strictObject({ size: z.int().default(1) }).meta({ id: 'Thing' }),
    response: { 404: problem('there is none', { nearest: z.string() }) },
  },
} as const

async function serve() {
  const counted: string[] = []
  const server = openHttpApi({
    log: pino({ level: 'silent' }),
    usualBytes: 100_000,
    mostBytes: 100_000,
    requestMs: 5_000,
    async guard({ headers }) {
      if (headers.authorization === undefined) throw new Problem(401, 'unauthorized', 'say who you are')
    },
    explain: (error) => (error.message === 'away' ? new Problem(503, 'away', 'not now') : undefined),
    onProblem: ({ type }) => void counted.push(type),
  })
  readBySchemas(server).route({
    ...route,
    async handler({ params: { name }, body: { size } }) {
      if (name === 'none') return new Problem(404, 'no-such-thing', 'it is not here', { nearest: 'a' })
      if (name === 'away' || name === 'fault') throw new Error(name)
      return { name, size }
    },
  })
  // A plugin that makes something else of every error, as the board of the queues does.
  await server.register(async (scope) => {
    scope.setErrorHandler((_error, _request, reply) => reply.code(500).send({ odd: true }))
    scope.get('/plugin', () => 'in')
  })
  /** octets that the server has read of each connection that has ended */
  const read: number[] = []
  server.server.on('connection', (socket) => socket.once('close', () => read.push(socket.bytesRead)))
  await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.close())
  const { port } = server.server.address() as { port: number }
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = { authorization: 'x' }) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    })
    return {
      status: answer.status,
      form: answer.headers.get('content-type')?.split(';')[0],
      again: answer.headers.get('retry-after'),
      body: await answer.json().catch((): unknown => undefined),
    }
  }
  return { ask, counted, port, read }
}

test('whatever is not done is a problem, in one form: returned, thrown, explained, or found by the server itself', async () => {
  const { ask, counted } = await serve()
  const form = 'application/problem+json'
  expect(await ask('/things/a', {})).toMatchObject({ status: 200, body: { name: 'a', size: 1 } })
  expect(await ask('/things/none', {})).toEqual({
    status: 404,
    form,
    again: null,
    body: { type: 'no-such-thing', title: 'no such thing', status: 404, detail: 'it is not here', nearest: 'a' },
  })
  expect(await ask('/things/away', {})).toMatchObject({ status: 503, form, again: '1', body: { type: 'away' } })
  expect(await ask('/things/fault', {})).toMatchObject({ status: 500, form, body: { type: 'internal' } })
  expect(await ask('/things/a', { size: 'x' })).toMatchObject({ status: 400, form, body: { type: 'bad-request' } })
  expect(await ask('/things/a', '{"size":')).toMatchObject({ status: 400, form, body: { type: 'bad-request' } })
  expect(await ask('/things/%ff', {})).toMatchObject({ status: 400, form, body: { type: 'bad-request' } })
  expect(await ask('/nothing', {})).toMatchObject({ status: 404, form, body: { type: 'not-found' } })
  expect(await ask('/things/a', 'x'.repeat(100_001))).toMatchObject({ status: 413, form })
  expect(await ask('/plugin', undefined, {})).toMatchObject({ status: 401, form, body: { type: 'unauthorized' } })
  expect(counted).toHaveLength(9)
})

/** A request whose body does not come; its answer is the first line. */
async function hold(port: number, path: string, authorization: string): Promise<{ answer: Promise<string> }> {
  const { connect } = await import('node:net')
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${authorization}content-length: 100000\r\n\r\n`,
  )
  return { answer: new Promise((resolve) => socket.once('data', (some) => resolve(String(some).slice(9, 12)))) }
}

test('bodies that are coming in have a bound over all of them; those of strangers and of no route take none of it', async () => {
  const { ask, port } = await serve()
  for (let n = 0; n < 8; n++) {
    expect(await (await hold(port, '/things/a', '')).answer).toBe('401')
    expect(await (await hold(port, '/nothing', 'authorization: x\r\n')).answer).toBe('404')
  }
  for (let n = 0; n < 4; n++) await hold(port, '/things/a', 'authorization: x\r\n')
  const large = { pad: 'x'.repeat(90_000) }
  await expect.poll(() => ask('/things/a', large)).toMatchObject({ status: 503, again: '1', body: { type: 'busy' } })
  expect(await ask('/things/a', {})).toMatchObject({ status: 200 })
})

test('a large body that is refused is not read: its sender has the answer, and the connection ends', async () => {
  const { port, read } = await serve()
  const { connect } = await import('node:net')
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const bytes = 64 * 1024 * 1024
  socket.write(
    `POST /things/a HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`,
  )
  socket.on('error', () => undefined)
  const answered = once(socket, 'data')
  const pieces = 64
  for (let n = 0; n < pieces; n++) socket.write(Buffer.alloc(bytes / pieces, 0x20))
  const [answer] = await answered
  expect(String(answer)).toMatch(/^HTTP\/1.1 401 .*\r\nconnection: close\r\n.*say who you are/is)
  await new Promise((resolve) => socket.once('close', resolve))
  await expect.poll(() => read).toHaveLength(1)
  expect(read[0]).toBeLessThan(bytes / 16)
})

test('the document is printed from the schemas that read: bodies strict, answers open, names once', () => {
  const document = openApi([route], { title: 't', version: '1', description: '' }, { type: 'http', scheme: 'bearer' })
  expect(document).toMatchObject({
    openapi: '3.1.1',
    paths: {
      '/things/{name}': {
        post: {
          operationId: 'make',
          parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string', maxLength: 5 } }],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingInput' } } },
          },
          responses: { 404: { content: { 'application/problem+json': { schema: { required: expect.any(Array) } } } } },
        },
      },
    },
    components: { schemas: { ThingInput: { additionalProperties: false, type: 'object' } } },
  })
})
