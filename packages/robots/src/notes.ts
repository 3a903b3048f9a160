/** Warnings by number, as a file holds them until their text is needed (warnings.ts has the texts, in this order). */

export const MISSPELT_FIELD = 0
export const MISSING_COLON = 1
export const RULE_BEFORE_GROUP = 2
export const DELAY_BEFORE_GROUP = 3
export const AGENT_WITHOUT_NAME = 4
export const AGENT_WITH_EXTRA = 5
export const UNREACHABLE_GROUP = 6
export const PATTERN_WITHOUT_SLASH = 7
export const CRAWL_DELAY_UNUSABLE = 8
export const SITEMAP_UNUSABLE = 9
export const LINE_TOO_LONG = 10
export const OVER_LIMIT = 11
export const TOO_MANY_RULES = 12
export const LOOKS_LIKE_HTML = 13
/** Bytes that are not UTF-8 text: UTF-16, gzip, an image. */
export const UTF_16 = 14
export const GZIP = 15
export const IMAGE = 16
export const PATTERN_NOT_ENCODED = 17
export const SITEMAP_RELATIVE = 18
/** The line begins with no known field name; whether it has a colon is checked when the warning is read. */
export const NO_FIELD = 19
