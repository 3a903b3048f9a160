/**
 * Every operation of the API: path, access, and the schemas of requests and answers. The server mounts exactly these (mount.ts), and
 * /openapi.json and /reference are printed from them (openapi.ts).
 */
import { answer, type Operation, problem } from '@decorum/runtime/openapi'
import type { Access } from '../access/route-access.ts'
import * as answers from './answers.ts'
import { CancelledAnswer, CandidateAnswer, OutcomeEvent, OutcomesAnswer } from './outcome-event.ts'
import * as queries from './questions.ts'

type Schema = Omit<Operation['schema'], 'operationId' | 'tags'>

const wrong = problem('the request cannot be read; nothing was done')
const away = problem('Redis does not answer: ask again')
const notChanged = problem('the configuration was changed meanwhile, or there is none yet; nothing was changed')

/** Adds the errors that all routes have, unless the schema of this route describes them itself. */
const route = <const M extends Operation['method'], const S extends Schema>(
  access: Access,
  method: M,
  url: Operation['url'],
  schema: S,
) => {
  const hasInput = schema.params ?? schema.querystring ?? schema.body
  const response: Operation['schema']['response'] = { ...(hasInput && { 400: wrong }), 503: away, ...schema.response }
  return { method, url, config: { access }, schema: { ...schema, response } }
}
const get = <const S extends Schema>(url: Operation['url'], schema: S) => route('read', 'GET', url, schema)
const write = <const S extends Schema>(method: Operation['method'], url: Operation['url'], schema: S) =>
  route('write', method, url, schema)

const forFrontiers = {
  addCandidates: write('POST', '/v1/candidates', {
    summary: 'Add URLs to be fetched',
    description:
      'A body is stored as a whole or not at all. NDJSON: one candidate per line; text: one URL per line, # comments.',
    querystring: queries.IntakeQuery,
    consumes: ['application/json', 'application/x-ndjson', 'text/plain'],
    body: queries.IntakeBody,
    response: {
      202: answer('stored', answers.StoredAnswer),
      400: problem('a line cannot be read; nothing of the body was stored', { line: answers.Line }),
      415: problem('a content-type is needed'),
      503: problem('Redis does not answer, or other large bodies are coming in: ask again', {
        stored: answers.Stored,
      }),
    },
  }),
  viewCandidate: get('/v1/candidates/:id', {
    summary: 'Where one candidate is, and why it waits',
    description:
      'No index from ids to lanes is stored: with `url` the lane is searched (20,000 URLs of it at most), ' +
      'without it only lanes that are due next. Jobs and outcomes are searched as well, a bounded number. The ' +
      'detail of a 404 says what was not searched.',
    params: queries.CandidatePath,
    querystring: queries.CandidateQuery,
    response: {
      200: answer('where it is', CandidateAnswer),
      404: problem('it was not found; the detail says what was not searched'),
    },
  }),
  cancelCandidate: write('DELETE', '/v1/candidates/:id', {
    summary: 'Cancel one candidate: it ends as refused: cancelled',
    description: 'One that is pending or reserved; what is in flight has its own outcome. Give its `url` as well.',
    params: queries.CandidatePath,
    querystring: queries.CandidateQuery,
    response: {
      200: answer('its outcome, which its readers are handed as well', CancelledAnswer),
      404: problem('it was not found'),
      409: problem('it was not cancelled: in flight, ended, not taken in yet, or its lane is not known'),
    },
  }),
  check: get('/v1/check', {
    summary: 'May this URL be fetched now, and why',
    description: "Judged by what the fleet knows at this moment, under the agent's policy. Nothing is fetched.",
    querystring: queries.CheckQuery,
    response: { 200: answer('the verdict', answers.CheckAnswer) },
  }),
  readOutcomes: {
    ...write('GET', '/v1/outcomes', {
      // `write`, because an outcome that is handed to one consumer goes to no other
      summary: 'Outcomes of candidates, in one answer or as server-sent events',
      description:
        'Through a consumer group. Unacknowledged outcomes are redelivered: to the same consumer with its next request, before ' +
        'anything new, and to another one when this one has given no sign of life for a minute. One answer: `Accept: ' +
        'application/json`, or a `waitMs`. A stream: `Accept: text/event-stream`, or neither. The `id` of an event is what ' +
        'POST /v1/outcomes/ack wants; a header Last-Event-ID acknowledges nothing. A slow reader slows its own stream ' +
        'alone. Before a stream ends there is one event `end` whose data says why: done, stopping, taken-over. ' +
        'The group is created and stays: outcomes are kept until every group has acknowledged them (DELETE ' +
        '/v1/readers/{group} forgets one). A browser may not simply open this address: programs that ' +
        'call themselves Mozilla send the header X-Requested-With.',
      querystring: queries.OutcomesQuery,
      response: {
        200: {
          description: 'outcomes with the ids that acknowledge them',
          content: {
            'application/json': { schema: OutcomesAnswer },
            'text/event-stream': { schema: OutcomeEvent },
          },
        },
        403: problem('asked by a page of another site, or opened in a browser'),
        429: problem('too many readers of this address or group'),
        503: problem('Redis does not answer, or too many readers in all'),
      },
    }),
    exposeHeadRoute: false, // a HEAD would read outcomes and deliver them to nobody
  },
  acknowledgeOutcomes: write('POST', '/v1/outcomes/ack', {
    summary: 'Acknowledge outcomes, so that they are not redelivered',
    description: 'By the ids that came with them, from any process. Doing it again is safe.',
    body: queries.AcknowledgeBody,
    response: {
      200: answer('how many', answers.AcknowledgedAnswer),
      400: problem('something is no id of an outcome; none was acknowledged'),
    },
  }),
  getContent: get('/v1/content', {
    summary: 'What is kept of a page: one WARC record, gzip, or the body alone',
    description:
      'By the `archive.ref` of its outcome, from whichever machine keeps it. Ranges, HEAD and If-None-Match are answered; ' +
      'what was written never changes. With `as=body` the answer is the body of the page without its content coding, as application/octet-stream; ' +
      '`says.charset` of the outcome names its encoding. `@decorum/client` reads text and links from it (docs/content.md).',
    querystring: queries.ContentQuery,
    response: {
      200: answer('the gzip member of the `response` record', answers.BytesAnswer, 'application/gzip'),
      206: answer('a range of it', answers.BytesAnswer, 'application/gzip'),
      400: problem('not a reference that a fetcher writes'),
      404: problem('kept on another machine, which serves nothing: set CONTENT_TOKEN and HOST there'),
      410: problem('no longer kept: removed, in a folder that is not the archive any more, or damaged'),
      416: problem('the record is shorter'),
      422: problem('as=body: it cannot be decoded'),
      503: problem('the fetcher that keeps it, or Redis, does not answer: ask again'),
    },
  }),
}

const forOperators = {
  listOrigins: get('/v1/origins', {
    summary: 'Origins by their lanes, and why each waits: by state, reason and domain, page by page',
    description:
      'Each page looks at a bounded number of lanes: 1,000 per partition, or 15,000 in search of a domain. So a page may be empty ' +
      'and have a `next`. Lanes move while pages are turned: an origin may come twice, or be missed once.',
    querystring: queries.ListQuery,
    response: { 200: answer('origins', answers.ListAnswer) },
  }),
  viewOrigin: get('/v1/origins/:origin', {
    summary: 'What the fleet knows of one origin: robots state, delay, back-off, lanes',
    params: queries.OriginPath,
    response: { 200: answer('the origin', answers.OriginAnswer) },
  }),
  actOnOrigin: write('PATCH', '/v1/origins/:origin', {
    summary: 'What an operator can do: pause, resume, block, unblock, delay, restore-delay, refetch, drop',
    description: 'Recorded in /v1/operations. It holds for the whole fleet at once, for delays under way too.',
    params: queries.OriginPath,
    body: queries.ActionBody,
    response: {
      200: answer('the origin afterwards', answers.OriginAnswer),
      503: problem('Redis does not answer; or a lane stayed busy, and part of a drop is still to do'),
    },
  }),
  viewNotes: get('/v1/origins/:origin/notes', {
    summary: 'What happened to an origin lately: outcomes, back-offs, answers of its robots.txt, acts of operators',
    description:
      'At most 30, kept for three days, of the 10,000 origins of each partition that had some last. Of a fast crawl usual outcomes are noted in part, trouble in full up to 100 a second and process.',
    params: queries.OriginPath,
    response: { 200: answer('notes', answers.NotesAnswer) },
  }),
  viewHistory: get('/v1/history', {
    summary: 'The last hours, minute by minute: what waited, what was in flight, what ended',
    querystring: queries.HistoryQuery,
    response: { 200: answer('columns', answers.HistoryAnswer) },
  }),
  listFailures: get('/v1/failures', {
    summary: 'Outcomes that have a reason, by reason, with the latest examples',
    response: { 200: answer('reasons', answers.FailuresAnswer) },
  }),
  viewFleet: get('/v1/fleet', {
    summary: 'Which processes run, where, and with which versions of software and configuration',
    response: { 200: answer('processes', answers.FleetAnswer) },
  }),
  viewConfiguration: get('/v1/configuration', {
    summary: 'What the fleet has agreed on, and who changed it, when and why',
    response: { 200: answer('configuration', answers.ConfigurationAnswer) },
  }),
  listOperations: get('/v1/operations', {
    summary: 'What operators did, newest first',
    description: 'The last 10,000 per partition are kept; of one origin, among the last 1,000 of its partition.',
    querystring: queries.OperationsQuery,
    response: { 200: answer('operations', answers.OperationsAnswer) },
  }),
  listReaders: get('/v1/readers', {
    summary: 'Who reads outcomes: each consumer group, what it has not acknowledged and for how long',
    description: 'Those with most to read first, at most 100.',
    querystring: queries.ReadersQuery,
    response: { 200: answer('readers', answers.ReadersAnswer) },
  }),
  forgetReader: write('DELETE', '/v1/readers/:group', {
    summary: 'Forget a consumer group: outcomes are no longer kept for it',
    description: 'Recorded in /v1/operations.',
    params: queries.ReaderPath,
    querystring: queries.ForgetQuery,
    response: {
      200: answer('what it had not acknowledged', answers.ForgottenAnswer),
      404: problem('no such group'),
      409: problem('somebody reads under this name at present; nothing was done'),
    },
  }),
  listCrawls: get('/v1/crawls', {
    summary: 'The crawls that share this fleet: counts, weight, limits',
    response: { 200: answer('crawls, the default one first', answers.CrawlsAnswer) },
  }),
  changeCrawl: write('PATCH', '/v1/crawls/:crawl', {
    summary: 'Pause, resume or cancel a crawl; set its weight, end, limits and settings',
    description:
      'A crawl may be set before its first candidate. What is left out stays. A crawl that is cancelled ends each of its stored URLs as `refused: cancelled`.',
    params: queries.CrawlPath,
    body: queries.CrawlBody,
    response: {
      200: answer('what is set afterwards', answers.ChangedCrawlAnswer),
      409: problem('it cannot be done; nothing was changed'),
    },
  }),
  forgetCrawl: write('DELETE', '/v1/crawls/:crawl', {
    summary: 'Remove a crawl that holds no URLs and that no group reads from the list',
    params: queries.CrawlPath,
    response: {
      200: answer('it is forgotten', answers.ForgottenCrawlAnswer),
      404: problem('no such crawl'),
      409: problem('it holds URLs, or a group reads it; nothing was done'),
    },
  }),
  listStops: get('/v1/stops', {
    summary: 'Emergency stops: what is stopped, by whom, when and why',
    querystring: queries.StopsQuery,
    response: { 200: answer('stops, oldest first', answers.StopsAnswer) },
  }),
  changeStops: write('POST', '/v1/stops', {
    summary: 'Emergency stop of everything, or of domains, hosts and addresses; and its end',
    description:
      'Within a second no process starts anything that is named. What is in flight ends. Without an end it holds until it is lifted.',
    body: queries.StopBody,
    response: {
      200: answer('what is stopped afterwards', answers.StopsAnswer),
      409: problem('it cannot be done: too many stops, or what is to be lifted is not stopped; nothing was changed'),
    },
  }),
  setPolicy: write('PUT', '/v1/policies/:site', {
    summary: 'Set the policy of a site: delay, visiting hours, requests a day, consent to a shorter delay',
    description:
      'It replaces the policy that the site has, as a new version of the configuration (/v1/configuration), which all processes follow. The site ' +
      'is named as in SITE_POLICIES: `www.example.com`, `domain:example.com` or `*.example.com`. /v1/origins/{origin} shows which policy counts.',
    params: queries.SitePath,
    body: queries.PolicyBody,
    response: { 200: answer('the policy of the site after the change', answers.PolicyAnswer), 409: notChanged },
  }),
  removePolicy: write('DELETE', '/v1/policies/:site', {
    summary: 'Remove the policy of a site',
    params: queries.SitePath,
    querystring: queries.RemovePolicyQuery,
    response: {
      200: answer('the policy of the site after the change', answers.PolicyAnswer),
      404: problem('the site has no policy'),
      409: notChanged,
    },
  }),
  viewPartitions: get('/v1/partitions', {
    summary: 'Each partition as a whole: lanes, due, in flight, waiting, unread, counts',
    response: { 200: answer('partitions, in order', answers.PartitionsAnswer) },
  }),
}

export const routes = { ...forFrontiers, ...forOperators }

/** The routes as OpenAPI describes them: the name of a route is its operationId. */
export const operations = Object.entries(routes).map(([operationId, { method, url, schema }]): Operation => ({
  method,
  url,
  schema: { operationId, tags: [operationId in forFrontiers ? 'for frontiers' : 'for operators'], ...schema },
}))
