/** How one fetcher works, and what becomes of its pages. */
import { z } from 'zod'
import { dnsServers } from '../allow-lists.ts'
import { type Setting, textThat, wholeNumber } from './setting.ts'

export const fetching = {
  FETCH_CONCURRENCY: {
    schema: wholeNumber(1, 10_000).default(100),
    unit: 'requests',
    means: 'Requests in flight at once, the sum over the fetching processes of one fetcher.',
    reason: 'A hundred slow sites at once keep one core busy without filling its memory.',
    roles: ['fetcher'],
    scope: 'process',
    change: 'restart',
  },
  FETCH_PROCESSES: {
    schema: wholeNumber(0, 64).default(1),
    unit: 'processes',
    means: 'Fetching processes under the parent that ends a frozen one; 0: none, the fetcher works unguarded.',
    reason: 'One per core is the most that helps, and most containers have one core.',
    roles: ['fetcher'],
    scope: 'process',
    change: 'restart',
  },
  PAGE_MAX_BYTES: {
    schema: wholeNumber(1).default(10 * 1024 * 1024),
    unit: 'bytes',
    means: 'Bytes of a body on the wire; a longer one is cut and marked `truncated: length`.',
    reason: 'Web pages are smaller; what is larger is mostly media.',
    roles: ['fetcher'],
    scope: 'fleet',
    change: 'live',
  },
  PAGE_SINK: {
    schema: z.string().default('warc'),
    means: 'What becomes of pages: `warc`, `folder`, `none`, or the path of a module (services/fetcher/README.md).',
    reason: 'WARC is what archives and their tools read.',
    roles: ['fetcher'],
    scope: 'fleet',
    change: 'restart',
  },
  ARCHIVE_DIR: {
    schema: z.string().default(''),
    means: 'Folder in which this fetcher keeps pages; empty: pages are not kept.',
    reason: 'Nothing is written to a disk that nobody named.',
    roles: ['fetcher', 'command'],
    scope: 'process',
    change: 'restart',
  },
  DECORUM_CRAWLS: {
    schema: z.string().default(''),
    means:
      'Folder of notes about where the pages of which crawl are kept; set by `decorum up` and `decorum crawl`, not by people.',
    reason: 'Only a fetcher that one of these commands started has such a folder.',
    roles: ['fetcher'],
    scope: 'process',
    change: 'restart',
  },
  DNS_SERVERS: {
    schema: textThat(dnsServers).default(''),
    means: 'Name servers, separated by commas; empty: as the system resolves.',
    reason:
      "The system's resolver knows the local network; it answers four questions at a time, so name servers help with many slow names.",
    roles: ['fetcher'],
    scope: 'process',
    change: 'restart',
  },
} as const satisfies Record<string, Setting>
