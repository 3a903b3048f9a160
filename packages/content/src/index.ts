/** Reads the content of a page by the reference in its outcome. Start at `openContent`; `@decorum/client` exports it as well. */
export { Content, type ContentHead } from './content.ts'
export { ContentError, type ContentErrorCode } from './errors.ts'
export type { Link } from './links.ts'
export { type ContentOptions, contentOf, type FleetOptions, openContent } from './open-content.ts'
export { writeReference } from './reference.ts'
