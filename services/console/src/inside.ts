/** Parts of the console for unit tests. Nothing else imports this: programs start the console by main.ts. */
export { countGuesses, type Guesses } from './access/guesses.ts'
export type { KnownRoute } from './access/route-access.ts'
export { newSession, readSession } from './access/sessions.ts'
export {
  CheckAnswer,
  HistoryAnswer,
  ListAnswer,
  OperationsAnswer,
  OriginAnswer,
  PartitionsAnswer,
  PolicyAnswer,
  ReadersAnswer,
} from './api/answers.ts'
export { routes } from './api/contract.ts'
export type { DescribedLane, DescribedOrigin } from './api/describe-origin.ts'
export { readBody } from './api/intake.ts'
export { CandidateAnswer, OutcomeEvent } from './api/outcome-event.ts'
export { readConfig } from './config.ts'
export { endOf } from './pages/crawls-page.ts'
export { headline, TROUBLES, totalsOf } from './pages/headline.ts'
export { html } from './pages/html.ts'
export { originHeadline } from './pages/origin-headline.ts'
export { siteOwnersPage } from './pages/site-owners-page.ts'
export { isShort, requestsOf, timeline } from './pages/timeline.ts'
export { buildServer } from './server.ts'
export { type FleetView, fleetViewer } from './watch/fleet-view.ts'
export { historyOf } from './watch/history.ts'
export { Pace } from './watch/pace.ts'
export { recentOf } from './watch/recent.ts'
export { dueIn, robotsWord, type Why, whyItWaits } from './why.ts'
export { count, length, some } from './words.ts'
