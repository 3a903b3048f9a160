/** A real S3-compatible server (fauxqs) behind a door of the test's own: away, slow, refusing, or broken off half way. Loopback only. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildApp } from 'fauxqs'
import { onTestFinished } from 'vitest'

export type Seen = { method: string; path: string; status: number }
export type TestStore = {
  access: {
    endpoint: string
    region: string
    bucket: string
    prefix: string
    accessKeyId: string
    secretAccessKey: string
  }
  /** what was asked, in order, with what was answered; 0: the connection was cut */
  seen: Seen[]
  /** how PUTs are answered from now on */
  door: { kind: 'open' } | { kind: 'status'; status: number } | { kind: 'cut' } | { kind: 'slow'; ms: number }
  /** names of objects, and the bytes of one */
  names(): Promise<string[]>
  bytes(name: string): Promise<Buffer>
}

export async function testStore(): Promise<TestStore> {
  const app = buildApp({ logger: false })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const inner = `http://127.0.0.1:${port}`
  const seen: Seen[] = []
  const store = { seen, door: { kind: 'open' } } as unknown as TestStore
  const server = createServer((asked, answer) => {
    void pass(asked, answer, store, port)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await app.close()
  })
  const bucket = 'pages'
  const made = await fetch(`${inner}/${bucket}`, { method: 'PUT' })
  if (made.status !== 200) throw new Error(`no bucket: ${made.status} ${await made.text()}`)
  const list = async (): Promise<string[]> => {
    const keys: string[] = []
    for (;;) {
      const after = encodeURIComponent(keys.at(-1) ?? '')
      const text = await (await fetch(`${inner}/${bucket}?list-type=2&start-after=${after}`)).text()
      const more = [...text.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key)
      keys.push(...more)
      if (more.length < 1_000) return keys
    }
  }
  return Object.assign(store, {
    access: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'us-east-1',
      bucket,
      prefix: 'crawl/',
      accessKeyId: 'test',
      secretAccessKey: 'the-secret-of-the-store',
    },
    names: list,
    bytes: async (name: string) => Buffer.from(await (await fetch(`${inner}/${bucket}/${name}`)).arrayBuffer()),
  })
}

async function pass(
  asked: IncomingMessage,
  answer: ServerResponse,
  { door, seen }: TestStore,
  port: number,
): Promise<void> {
  const one: Seen = { method: asked.method ?? '', path: asked.url ?? '', status: 0 }
  seen.push(one)
  const isPut = asked.method === 'PUT'
  if (isPut && door.kind === 'cut') {
    asked.once('data', () => asked.destroy())
    return
  }
  if (door.kind === 'status') {
    one.status = door.status
    asked.resume()
    answer.writeHead(door.status).end('<Error><Code>Refused</Code></Error>')
    return
  }
  if (isPut && door.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, door.ms))
  const inner = request(
    {
      host: '127.0.0.1',
      port,
      method: asked.method,
      path: asked.url,
      headers: { ...asked.headers, host: `127.0.0.1:${port}` },
    },
    (given) => {
      one.status = given.statusCode ?? 0
      answer.writeHead(one.status, given.headers)
      given.pipe(answer)
    },
  )
  inner.on('error', () => answer.destroy())
  asked.on('error', () => inner.destroy())
  asked.pipe(inner)
}
