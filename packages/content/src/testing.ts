/** Parts of this package for unit tests. */
export { encodingOf, SAMPLE_BYTES } from './charset.ts'
export { HeadTag, readTags } from './head-tags.ts'
export { type Link, type LinkOptions, LinkReader, MAX_LINKS } from './links.ts'
export { TagReader } from './tags.ts'
