/**
 * Every operation of the API: path, access, and the schemas of what is asked and answered. The server mounts exactly these
 * (mount.ts), and @fastify/swagger prints /openapi.json and /reference from them (openapi.ts).
 */
import type { z } from 'zod'
import type { Access } from '../access/route-access.ts'
import * as answers from './answers.ts'
import { OutcomeEvent } from './outcome-event.ts'
import * as ask from './questions.ts'

type Answer = { description: string; content: Record<string, { schema: z.ZodType }> }
type Operation = {
  method: 'GET' | 'POST' | 'PATCH'
  url: `/${string}`
  config: { access: Access }
  exposeHeadRoute?: boolean
  schema: {
    operationId: string
    tags: ['for frontiers' | 'for operators']
    summary: string
    description?: string
    params?: z.ZodType
    querystring?: z.ZodType
    body?: z.ZodType
    consumes?: string[]
    response: Record<number, Answer>
  }
}

const answer = (description: string, schema: z.ZodType, type = 'application/json'): Answer => ({
  description,
  content: { [type]: { schema } },
})
const problem = (description: string): Answer => answer(description, answers.ProblemAnswer)
const wrong = problem('the request cannot be read; nothing was done')
const away = problem('Redis does not answer: ask again')

const READ = { access: 'read' } as const
const WRITE = { access: 'write' } as const

export const routes = {
  addCandidates: {
    method: 'POST',
    url: '/v1/candidates',
    config: WRITE,
    schema: {
      operationId: 'addCandidates',
      tags: ['for frontiers'],
      summary: 'Add URLs to be fetched',
      description:
        'All of a body or nothing of it. NDJSON: one candidate per line; text: one URL per line, # comments.',
      querystring: ask.IntakeQuery,
      consumes: ['application/json', 'application/x-ndjson', 'text/plain'],
      body: ask.IntakeBody,
      response: {
        202: answer('stored', answers.StoredAnswer),
        400: problem('a line cannot be read; nothing of the body was stored'),
        415: problem('a content-type is needed'),
        503: problem('Redis does not answer, or other large bodies are coming in: ask again'),
      },
    },
  },
  check: {
    method: 'GET',
    url: '/v1/check',
    config: READ,
    schema: {
      operationId: 'check',
      tags: ['for frontiers'],
      summary: 'May this URL be fetched now, and why',
      description: "Judged by what the fleet knows at this moment, under the agent's policy. Nothing is fetched.",
      querystring: ask.CheckQuery,
      response: { 200: answer('the verdict', answers.CheckAnswer), 400: wrong, 503: away },
    },
  },
  listOrigins: {
    method: 'GET',
    url: '/v1/origins',
    config: READ,
    schema: {
      operationId: 'listOrigins',
      tags: ['for operators'],
      summary: 'Origins by their lanes, and why each waits',
      description: 'Bounded: at most 1,000 lanes per partition are looked at; `complete` says whether those were all.',
      querystring: ask.ListQuery,
      response: { 200: answer('origins', answers.ListAnswer), 400: wrong, 503: away },
    },
  },
  viewOrigin: {
    method: 'GET',
    url: '/v1/origins/:origin',
    config: READ,
    schema: {
      operationId: 'viewOrigin',
      tags: ['for operators'],
      summary: 'What the fleet knows of one origin: robots state, delay, back-off, lanes',
      params: ask.OriginPath,
      response: { 200: answer('the origin', answers.OriginAnswer), 400: wrong, 503: away },
    },
  },
  actOnOrigin: {
    method: 'PATCH',
    url: '/v1/origins/:origin',
    config: WRITE,
    schema: {
      operationId: 'actOnOrigin',
      tags: ['for operators'],
      summary: 'What an operator can do: pause, resume, block, unblock, delay, restore-delay, refetch, drop',
      description: 'Recorded in /v1/operations. It holds for the whole fleet at once, for delays under way too.',
      params: ask.OriginPath,
      body: ask.ActionBody,
      response: {
        200: answer('the origin afterwards', answers.OriginAnswer),
        400: wrong,
        503: problem('Redis does not answer; or a lane stayed busy, and part of a drop is still to do'),
      },
    },
  },
  listOperations: {
    method: 'GET',
    url: '/v1/operations',
    config: READ,
    schema: {
      operationId: 'listOperations',
      tags: ['for operators'],
      summary: 'What operators did, newest first',
      description: 'The last 10,000 per partition are kept; of one origin, among the last 1,000 of its partition.',
      querystring: ask.OperationsQuery,
      response: { 200: answer('operations', answers.OperationsAnswer), 400: wrong, 503: away },
    },
  },
  streamOutcomes: {
    method: 'GET',
    url: '/v1/outcomes',
    config: WRITE, // what a group has been sent it is not sent again
    exposeHeadRoute: false, // a HEAD would read outcomes and send them to nobody
    schema: {
      operationId: 'streamOutcomes',
      tags: ['for frontiers'],
      summary: 'What became of candidates, as server-sent events',
      description:
        'Events `outcome` with JSON data, through a consumer group. One counts as read once it is written to the ' +
        'connection: what gets lost behind that is not sent again (@decorum/client acknowledges by hand). A slow reader ' +
        'slows this stream alone. Before it ends there is one event `end` whose data says why: done, stopping, taken-over. ' +
        'The group is created and stays: outcomes are kept until every group has read them ' +
        '(`decorum outcomes --group G --forget` removes one). A browser may not simply open this address: programs that ' +
        'call themselves Mozilla send the header X-Requested-With.',
      querystring: ask.OutcomesQuery,
      response: {
        200: answer('events', OutcomeEvent, 'text/event-stream'),
        400: wrong,
        403: problem('asked by a page of another site, or opened in a browser'),
        429: problem('too many readers of this address or group'),
        503: problem('Redis does not answer, or too many readers in all'),
      },
    },
  },
  viewPartitions: {
    method: 'GET',
    url: '/v1/partitions',
    config: READ,
    schema: {
      operationId: 'viewPartitions',
      tags: ['for operators'],
      summary: 'Each partition as a whole: lanes, due, in flight, waiting, unread, counts',
      response: { 200: answer('partitions, in order', answers.PartitionsAnswer), 503: away },
    },
  },
} as const satisfies Record<string, Operation>
