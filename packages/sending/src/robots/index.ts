/** The robots fetch of an origin, for an order or for a person who asks. Start at `fetchRobots`. */
export type { RobotsAnswer } from './ask-robots.ts'
export { checkRobots, OriginBlockedError } from './check-robots.ts'
export { type FetchedRobots, type FetchTools, fetchRobots } from './fetch-robots.ts'
export { type HopLines, hopLines } from './hop-lines.ts'
export { type SiteAnswers, siteAnswers } from './site-answers.ts'
