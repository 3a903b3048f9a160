/** The commands that are one role each, until a signal: for containers, and what `up` and `crawl` start. */
export const ROLES = ['gateway', 'fetcher', 'console', 'permits', 'proxy'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (word: string | undefined): word is Role => ROLES.some((role) => role === word)
