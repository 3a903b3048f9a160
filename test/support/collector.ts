/** A collector of traces for one test, and how its spans are read. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export type Told = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: Value }[]
}
type Value = { stringValue?: string; intValue?: number }
type Payload = {
  resourceSpans: { resource: { attributes: Told['attributes'] }; scopeSpans: { spans: Told[] }[] }[]
}
export const attribute = (attributes: Told['attributes'], key: string): string | number | undefined => {
  const value = attributes.find((one) => one.key === key)?.value
  return value?.stringValue ?? value?.intValue
}

/** A collector that takes OTLP over HTTP as JSON, and keeps every span with the name of the service that told it. */
export async function collector(): Promise<{ url: string; spans: (Told & { service: string })[] }> {
  const spans: (Told & { service: string })[] = []
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const payload = JSON.parse(await textOf(request)) as Payload
    for (const { resource, scopeSpans } of payload.resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service: String(attribute(resource.attributes, 'service.name')) })
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  }
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans }
}
