/** Mounts every page of the console; the routes of pages without forms are here. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Problem, readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyError, FastifyInstance } from 'fastify'
import { viewConfiguration, viewFleet } from '../api/fleet.ts'
import { HISTORY_MINUTES, HistoryQuery } from '../api/questions.ts'
import { problemOf } from '../api/parts.ts'
import { readHistory } from '../watch/history.ts'
import { reasonsOf } from '../watch/reasons.ts'
import { capital } from '../words.ts'
import { type PageParts, type PageScope, READ } from './answer-page.ts'
import { configurationPage } from './configuration-page.ts'
import { addCrawls } from './crawls-page.ts'
import { failuresPage } from './failures-page.ts'
import { fleetPage } from './fleet-page.ts'
import { hoursPage } from './hours-page.ts'
import { HTML } from './html.ts'
import { layout, type Page } from './layout.ts'
import { addLogin } from './login.ts'
import { addOrigins } from './origins.ts'
import { overviewPage } from './overview-page.ts'
import { banner } from './parts.ts'
import { addReaders } from './readers-page.ts'
import { siteOwnersPage } from './site-owners-page.ts'
import { addStops } from './stops-page.ts'
import { addUrls } from './urls-page.ts'

const FORM_MAX_BYTES = 64 * 1024
const VERSIONS_SHOWN = 50

export function addPages(server: FastifyInstance, parts: PageParts): void {
  const scope = readBySchemas(server)
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_MAX_BYTES },
    (_request, body, parsed) => parsed(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  scope.addHook('onRequest', async (request, reply) => {
    reply
      .type(HTML)
      .serializer((page: Page | string) => (typeof page === 'string' ? page : layout(parts.version, request, page)))
  })
  scope.setErrorHandler<FastifyError>(async (error, _request, reply) => {
    const problem = problemOf(error)
    if (problem === undefined) throw error
    reply.code(problem.status).type(HTML)
    return problemPage(problem)
  })
  addStatic(scope)
  addLogin(scope, parts)
  addOrigins(scope, parts)
  addCrawls(scope, parts)
  addUrls(scope, parts)
  addReaders(scope, parts)
  addStops(scope, parts)
  const { view, pace, config, ledger } = parts
  scope.get('/', READ, async () => overviewPage(await view(), pace, config.outcomesLimit))
  scope.get('/failures', READ, async () => failuresPage(await reasonsOf(ledger), ledger.wall()))
  const HoursQuery = HistoryQuery.catch({ minutes: HISTORY_MINUTES })
  scope.get('/hours', { ...READ, schema: { querystring: HoursQuery } }, async (request) =>
    hoursPage(await readHistory(ledger, request.query.minutes)),
  )
  scope.get('/fleet', READ, async () => {
    const { members, config: version } = await viewFleet(parts)
    return fleetPage(members, version)
  })
  scope.get('/configuration', READ, async () => {
    const { current, history } = await viewConfiguration(parts)
    return configurationPage(current, history.slice(0, VERSIONS_SHOWN))
  })
  // Open to everybody, because a User-Agent may link to this page
  scope.get('/site-owners', { config: { access: 'open' } }, () =>
    siteOwnersPage({ agents: config.agents.list, contact: config.contact }),
  )
}

/** The page that shows a Problem to a person. */
export function problemPage({ status, message }: Problem): Page {
  const title = status === 404 ? 'Not found' : 'Not done'
  return { title, body: banner('trouble', title, `${capital(message)}.`) }
}

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'

/** Files of the login page are open; they reveal nothing about the fleet. */
function addStatic(scope: PageScope): void {
  const { resolve } = createRequire(import.meta.url)
  const uplot = join(dirname(resolve('uplot/package.json')), 'dist')
  const own = join(import.meta.dirname, 'static')
  for (const [name, file, type, access] of [
    ['console.css', join(own, 'console.css'), CSS, 'open'],
    ['icon.svg', join(own, 'icon.svg'), 'image/svg+xml', 'open'],
    ['console.js', join(own, 'console.js'), JAVASCRIPT, 'read'],
    ['idiomorph.js', resolve('idiomorph/dist/idiomorph.min.js'), JAVASCRIPT, 'read'],
    ['charts.js', join(own, 'charts.js'), JAVASCRIPT, 'read'],
    ['uplot.js', join(uplot, 'uPlot.iife.min.js'), JAVASCRIPT, 'read'],
    ['uplot.css', join(uplot, 'uPlot.min.css'), CSS, 'read'],
  ] as const) {
    const body = readFileSync(file)
    scope.get(`/static/${name}`, { config: { access } }, (_request, reply) => reply.type(type).send(body))
  }
}
