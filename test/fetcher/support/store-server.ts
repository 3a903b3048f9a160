/**
 * An object store that answers as S3 does what a fleet asks of one (PUT of whole objects, HEAD, GET of a range), and refuses a body or a request
 * that is not signed as "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" says. Loopback only, in memory.
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What was asked, with what was answered; 0: the connection was cut. */
export type Seen = { method: string; path: string; status: number }
export type Door =
  | { kind: 'open' }
  | { kind: 'status'; status: number }
  /** PUTs alone */
  | { kind: 'cut' }
  | { kind: 'slow'; ms: number }

export type Signed = { method: string; path: string; headers: Record<string, string | string[] | undefined> }

/** The secret of every key, with which the store computes the signature again. */
export const SECRET = 'the-secret-of-the-store'

/** `Credential=KEY/DAY/REGION/s3/aws4_request,SignedHeaders=…,Signature=…` */
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=[^/,]+\/((\d{8})\/([\w-]+)\/s3\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/

export function isSigned({ method, path, headers }: Signed, secret: string): boolean {
  const [, scope = '', day = '', region = '', names = '', signature] =
    AUTHORIZATION.exec(String(headers.authorization)) ?? []
  const [resource, query = ''] = path.split('?')
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, resource, query, lines.join(''), names, headers['x-amz-content-sha256']].join('\n')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const hmac = (key: string | Buffer, value: string): Buffer => createHmac('sha256', key).update(value).digest()
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${secret}`, day))
  return hmac(key, text).toString('hex') === signature
}

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

export async function openStoreServer(bucket: string) {
  const objects = new Map<string, Buffer>()
  const seen: Seen[] = []
  const store = { door: { kind: 'open' } as Door, seen, objects }
  const server = createServer((asked, answer) => {
    void serve(asked, answer).catch(() => answer.destroy())
  })

  async function serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = asked
    const one: Seen = { method, path, status: 0 }
    seen.push(one)
    const say = (status: number, body: string | Buffer = '', fields: Record<string, string | number> = {}): void => {
      one.status = status
      answer.writeHead(status, { ...fields, 'content-length': fields['content-length'] ?? body.length }).end(body)
    }
    const refuse = (status: number, code: string): void => say(status, `<Error><Code>${code}</Code></Error>`)
    const { door } = store
    if (door.kind === 'status') {
      asked.resume()
      return refuse(door.status, 'Refused')
    }
    if (method === 'PUT' && door.kind === 'cut') return void asked.once('data', () => asked.destroy())
    const body = Buffer.concat(await asked.toArray()) // throws where the sender went away
    if (method === 'PUT' && door.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, door.ms))
    if (!isSigned({ method, path, headers }, SECRET)) return refuse(403, 'SignatureDoesNotMatch')
    if (!path.startsWith(`/${bucket}/`)) return refuse(404, 'NoSuchBucket')
    const name = decodeURIComponent(path.slice(bucket.length + 2))
    if (method === 'PUT') {
      if (headers['x-amz-content-sha256'] !== sha256(body)) return refuse(400, 'XAmzContentSHA256Mismatch')
      objects.set(name, body)
      return say(200)
    }
    const object = objects.get(name)
    if (object === undefined) return refuse(404, 'NoSuchKey')
    if (method === 'HEAD') return say(200, '', { 'content-length': object.length })
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
    if (from === undefined) return say(200, object)
    if (Number(from) >= object.length) return refuse(416, 'InvalidRange')
    say(206, object.subarray(Number(from), Number(to) + 1))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(store, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  })
}
