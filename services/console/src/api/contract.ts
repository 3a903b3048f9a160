/** Every operation of the API on one screen. The server mounts exactly these, `/openapi.json` describes exactly these. */
import * as answer from './answers.ts'
import { OutcomeEvent } from './outcome-event.ts'
import * as ask from './questions.ts'
import type { Route } from './route.ts'

const away = { description: 'Redis does not answer: ask again', schema: answer.ProblemAnswer }
const wrong = { description: 'the request cannot be read; nothing was done', schema: answer.ProblemAnswer }

export const routes = {
  addCandidates: {
    method: 'post',
    access: 'write',
    path: '/v1/candidates',
    summary: 'Add URLs to be fetched',
    description: 'All of a body or nothing of it. NDJSON: one candidate per line; text: one URL per line, # comments.',
    query: ask.IntakeQuery,
    body: { types: ['application/json', 'application/x-ndjson', 'text/plain'], schema: ask.IntakeBody },
    answers: {
      202: { description: 'stored', schema: answer.StoredAnswer },
      400: { ...wrong, description: 'a line cannot be read; nothing of the body was stored' },
      415: { ...wrong, description: 'a content-type is needed' },
      503: { ...away, description: 'Redis does not answer, or other large bodies are coming in: ask again' },
    },
  },
  check: {
    method: 'get',
    access: 'read',
    path: '/v1/check',
    summary: 'May this URL be fetched now, and why',
    description: "Judged by what the fleet knows at this moment, under the agent's policy. Nothing is fetched.",
    query: ask.CheckQuery,
    answers: { 200: { description: 'the verdict', schema: answer.CheckAnswer }, 400: wrong, 503: away },
  },
  listOrigins: {
    method: 'get',
    access: 'read',
    path: '/v1/origins',
    summary: 'Origins by their lanes, and why each waits',
    description: 'Bounded: at most 1,000 lanes per partition are looked at; `complete` says whether those were all.',
    query: ask.ListQuery,
    answers: { 200: { description: 'origins', schema: answer.ListAnswer }, 400: wrong, 503: away },
  },
  viewOrigin: {
    method: 'get',
    access: 'read',
    path: '/v1/origins/{origin}',
    summary: 'What the fleet knows of one origin: robots state, delay, back-off, lanes',
    params: ask.OriginPath,
    answers: { 200: { description: 'the origin', schema: answer.OriginAnswer }, 400: wrong, 503: away },
  },
  actOnOrigin: {
    method: 'patch',
    access: 'write',
    path: '/v1/origins/{origin}',
    summary: "The operator's hand: pause, resume, block, unblock, delay, restore-delay, refetch, drop",
    description: 'Written down in /v1/operations. Counts for the whole fleet at once, for running silences too.',
    params: ask.OriginPath,
    body: { types: ['application/json'], schema: ask.ActionBody },
    answers: {
      200: { description: 'the origin afterwards', schema: answer.OriginAnswer },
      400: wrong,
      503: { ...away, description: 'Redis does not answer; or a lane stayed busy, and part of a drop is still to do' },
    },
  },
  listOperations: {
    method: 'get',
    access: 'read',
    path: '/v1/operations',
    summary: 'What operators did, newest first',
    description: 'The last 10,000 per partition are kept; of one origin, among the last 1,000 of its partition.',
    query: ask.OperationsQuery,
    answers: { 200: { description: 'operations', schema: answer.OperationsAnswer }, 400: wrong, 503: away },
  },
  streamOutcomes: {
    method: 'get',
    access: 'write', // what a group was told it is not told again
    path: '/v1/outcomes',
    summary: 'What became of candidates, as server-sent events',
    description:
      'Events `outcome` with JSON data, through a consumer group. One counts as read once it is written to the ' +
      'connection: what gets lost behind that is not sent again (@decorum/client acknowledges by hand). A slow reader ' +
      'slows this stream alone. Before it ends there is one event `end` whose data says why: done, stopping, taken-over. ' +
      'The group is created and stays: outcomes are kept until every group has read them ' +
      '(`decorum outcomes --group G --forget` removes one). A browser may not simply open this address: programs that ' +
      'call themselves Mozilla send the header X-Requested-With.',
    query: ask.OutcomesQuery,
    answers: {
      200: { description: 'events', type: 'text/event-stream', schema: OutcomeEvent },
      400: wrong,
      403: { ...wrong, description: 'asked by a page of another site, or opened in a browser' },
      429: { ...wrong, description: 'too many readers of this address or group' },
      503: { ...away, description: 'Redis does not answer, or too many readers in all' },
    },
  },
  viewPartitions: {
    method: 'get',
    access: 'read',
    path: '/v1/partitions',
    summary: 'Each partition as a whole: lanes, due, in flight, waiting, unread, counts',
    answers: { 200: { description: 'partitions, in order', schema: answer.PartitionsAnswer }, 503: away },
  },
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
