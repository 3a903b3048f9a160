/** Parses JSON bodies of HTTP requests: limits their size, and handles absent bodies. */

type Done = (error: Error | null, body?: unknown) => void
type Parser = (request: never, body: string, done: Done) => unknown
/** The part of a Fastify server that is used here. */
type Server = {
  getDefaultJsonParser(onProtoPoisoning: 'error', onConstructorPoisoning: 'error'): Parser
  addContentTypeParser(contentType: string, options: { parseAs: 'string' }, parser: Parser): unknown
}

/**
 * Most values in one body. A hundred URLs, or 512 headers, have far fewer. Parsing this many takes about 20 ms; the millions that fit into
 * 15 MB would take seconds.
 */
const MOST_VALUES = 50_000
const MOST_DEPTH = 32

/**
 * Reads JSON within bounds. A request with the JSON type and no body counts as one without a body: many clients set that type on every
 * request, even on DELETE. A route that needs a body reports that through its schema.
 */
export function takeJson(server: Server): void {
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, undefined)
    const why = tooMuch(body)
    return why === undefined ? parse(request, body, done) : done(Object.assign(new Error(why), { statusCode: 400 }))
  })
}

/** Why a text is not parsed as JSON; undefined: it is small enough. Counts values and depth; the parser checks the syntax. */
export function tooMuch(text: string, mostValues = MOST_VALUES, mostDepth = MOST_DEPTH): string | undefined {
  let values = 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) {
      at = endOfString(text, at + 1)
      if (at < 0) return undefined // not JSON
    } else if (sign === COMMA || sign === BRACKET || sign === BRACE) {
      if (++values > mostValues) return `JSON of more than ${mostValues} values`
      if (sign !== COMMA && ++depth > mostDepth) return `JSON that is nested deeper than ${mostDepth}`
    } else if (sign === END_BRACKET || sign === END_BRACE) depth--
  }
  return undefined
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [BRACKET, END_BRACKET, BRACE, END_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Index of the quote that ends a string; -1: there is none. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at
    while (text.charCodeAt(before - 1) === BACKSLASH && before > from) before--
    if ((at - before) % 2 === 0) return at
  }
  return -1
}
