/** Commands that run one role until a signal: for containers, and for `up` and `crawl`. */
export const ROLES = ['gateway', 'fetcher', 'console', 'permits', 'proxy'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (word: string | undefined): word is Role => ROLES.some((role) => role === word)
