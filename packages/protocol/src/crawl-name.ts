/** The name of a crawl. Without zod, for code that has to load fast, such as the help of a command. */

/** Of a candidate that names none. */
export const DEFAULT_CRAWL = 'default'

export const CRAWL_NAME = 'a crawl is named with 1 to 64 lower-case letters, digits and hyphens'
export const CRAWL_NAME_FORM = /^[a-z0-9-]{1,64}$/
