/** The parts of this package that tests use one by one. */
export { HeadTag, readTags } from './head-tags.ts'
export { type Link, LinkReader, MAX_LINKS } from './links.ts'
export { TagReader } from './tags.ts'
