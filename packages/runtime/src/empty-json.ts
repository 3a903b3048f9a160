/**
 * The parser of `application/json` for a Fastify: many clients give that type with every request, so a DELETE that has it and no body
 * is as good as one without it. What must have a body says so itself, when its schema finds nothing.
 */
type Done = (error: Error | null, body?: unknown) => void
type Parser<R> = (request: R, body: string, done: Done) => unknown

/** @param parse  what reads a body that is there: `server.getDefaultJsonParser('error', 'error')` */
export const emptyIsNone =
  <R>(parse: Parser<R>): Parser<R> =>
  (request, body, done) =>
    body === '' ? done(null, undefined) : parse(request, body, done)
