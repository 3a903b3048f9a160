/** POST /v1/candidates: bodies of several forms, bounded in memory, stored as a whole or not at all. */
import { CANDIDATES } from '@decorum/protocol'
import { Problem, readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyError, FastifyInstance } from 'fastify'
import { routes } from './contract.ts'
import { INTAKE_TYPES, readBody, store } from './intake.ts'
import { type ApiParts, unavailable } from './parts.ts'

/** Largest body: about 150,000 URLs of 100 characters. */
export const BODY_MAX_BYTES = 16 * 1024 * 1024

export function addIntake(scope: FastifyInstance, { config, queues, redisAnswers }: ApiParts): void {
  const intake = queues.filter((queue) => queue.name === CANDIDATES)
  scope.removeAllContentTypeParsers() // readBody parses JSON too, so that every form reports lines in the same way
  scope.addContentTypeParser(Object.keys(INTAKE_TYPES), { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  const wrongType = new Problem(
    415,
    'content-type',
    `a content-type is needed: ${Object.keys(INTAKE_TYPES).join(', ')}`,
  )
  scope.setErrorHandler<FastifyError>((error) => {
    throw error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? wrongType : error // the server's handler answers
  })
  readBySchemas(scope, false).route({
    ...routes.addCandidates,
    bodyLimit: BODY_MAX_BYTES,
    async handler(request, reply) {
      const [type = '', ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';')
      const shape = INTAKE_TYPES[type.trim()]
      const body: unknown = request.body
      if (shape === undefined || !Buffer.isBuffer(body)) return wrongType
      if (isEncoded(parameters, request.headers['content-encoding'])) return NOT_UTF_8
      const text = textOf(body)
      if (text instanceof Problem) return text
      const candidates = readBody(text, shape, config.agents, request.query.agent, request.query.crawl)
      if (candidates instanceof Problem) return candidates
      if (!(await redisAnswers())) return unavailable('no answer', { stored: 0 })
      const { stored, refusal } = await store(intake, candidates.candidates)
      if (refusal !== undefined) return unavailable(refusal, { stored })
      return reply.code(202).send({ count: stored })
    },
  })
}

const NOT_UTF_8 = new Problem(
  400,
  'not-utf-8',
  'the body is not text in UTF-8: write it in that encoding, without compression',
)

/** Whether the headers declare compression, or a charset other than UTF-8. The bytes prove nothing: ASCII in UTF-16 is valid UTF-8. */
function isEncoded(parameters: string[], contentEncoding: string | undefined): boolean {
  const charset = parameters.map((text) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(text)?.[1]).find(Boolean)
  return (
    (charset !== undefined && !['utf-8', 'utf8', 'us-ascii'].includes(charset)) ||
    !['', 'identity'].includes((contentEncoding ?? '').trim().toLowerCase())
  )
}

/** The text without its byte order mark. Decoding text of another encoding would lose characters and make other URLs. */
function textOf(body: Buffer): string | Problem {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return NOT_UTF_8
  }
}
