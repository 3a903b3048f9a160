/** What the routes of all pages have. */
import type { readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Guesses } from '../access/guesses.ts'
import type { ApiParts } from '../api/parts.ts'
import type { FleetView } from '../watch/fleet-view.ts'
import type { Pace } from '../watch/pace.ts'
import type { Frame } from './layout.ts'

export type PageParts = ApiParts & { view: () => Promise<FleetView>; pace: Pace; guesses: Guesses }
/** Handlers return HTML; requests are parsed by the schemas of their route. */
export type PageScope = ReturnType<typeof readBySchemas>
export type PageRequest = Pick<FastifyRequest, 'who'>

export const READ = { config: { access: 'read' } } as const
export const WRITE = { config: { access: 'write' } } as const
/** The body of a posted form. */
export const Form = z.record(z.string(), z.string())

export const frameOf = ({ version }: Pick<PageParts, 'version'>, { who }: PageRequest): Frame => ({ version, who })
