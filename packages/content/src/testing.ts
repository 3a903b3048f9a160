/** Parts of this package for unit tests. */
export { encodingOf, SAMPLE_BYTES } from './charset.ts'
export { HeadTag, readTags } from './head-tags.ts'
export { type Link, type LinkOptions, linkReader, MAX_LINKS } from './links.ts'
export { tagReader } from './tags.ts'
