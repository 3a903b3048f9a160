/** The name of a crawl. Without zod, for code that must load fast, such as the help of a command. */

/** The crawl of candidates that name none. */
export const DEFAULT_CRAWL = 'default'

export const CRAWL_NAME = 'a crawl is named with 1 to 64 lower-case letters, digits and hyphens'
export const CRAWL_NAME_FORM = /^[a-z0-9-]{1,64}$/
