/** The answer of every page, and the data for it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Guesses } from '../access/guesses.ts'
import type { ApiParts } from '../api/parts.ts'
import type { Look } from '../watch/looks.ts'
import type { Pace } from '../watch/pace.ts'
import type { Frame } from './layout.ts'

export type PageParts = ApiParts & { look: () => Promise<Look>; pace: Pace; guesses: Guesses }

export const page = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(text)

export const frameOf = ({ version }: Pick<PageParts, 'version'>, { who }: FastifyRequest): Frame => ({ version, who })
