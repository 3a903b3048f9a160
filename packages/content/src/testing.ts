/** The parts of this package that tests use one by one. */
export { type Link, LinkReader, MAX_LINKS } from './links.ts'
