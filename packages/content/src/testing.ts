/** The parts of this package that tests use one by one. */
export { encodingOf, SAMPLE_BYTES } from './charset.ts'
export { HeadTag, readTags } from './head-tags.ts'
export { type Link, type LinkOptions, LinkReader, MAX_LINKS } from './links.ts'
export { TagReader } from './tags.ts'
