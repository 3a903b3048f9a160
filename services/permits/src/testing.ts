/** The parts of the permits service that tests use one by one. Not for other services. */
export { orderCompletionBody } from './schemas.ts'
export { Shadow } from './shadow.ts'
export { Lines } from './waiting.ts'
