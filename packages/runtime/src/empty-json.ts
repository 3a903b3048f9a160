type Done = (error: Error | null, body?: unknown) => void
type Parser = (request: never, body: string, done: Done) => unknown
/** What is used of a Fastify. */
type Server = {
  getDefaultJsonParser(onProtoPoisoning: 'error', onConstructorPoisoning: 'error'): Parser
  addContentTypeParser(contentType: string, options: { parseAs: 'string' }, parser: Parser): unknown
}

/**
 * From now on a request that says it is JSON and has no body is one without a body: many clients give that type with every request, with
 * a DELETE too. What must have a body says so itself, when its schema finds nothing.
 */
export function takeEmptyJson(server: Server): void {
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) =>
    body === '' ? done(null, undefined) : parse(request, body, done),
  )
}
