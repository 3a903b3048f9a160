/** The parts of the permits service that tests use one by one. Not for other services. */
export { Shadow } from './shadow.ts'
export { Lines } from './waiting.ts'
