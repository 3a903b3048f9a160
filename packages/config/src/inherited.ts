/** What `decorum up` and `decorum crawl` hand to the processes that they start: no settings, because people do not set them. */

/** Folder of notes about where the pages of which crawl are kept; '': only processes that one of these commands started have one. */
export const inheritedCrawls = (env: Record<string, string | undefined>): string => env.DECORUM_CRAWLS?.trim() ?? ''
