/** Variables that `decorum up` and `decorum crawl` pass to the processes that they start; not settings, because people do not set them. */

/** Folder with notes on where the pages of each crawl are kept; '' unless one of these commands started the process. */
export const inheritedCrawls = (env: Record<string, string | undefined>): string => env.DECORUM_CRAWLS?.trim() ?? ''
