/** The settings of one fetcher, and of its sink. */
import { z } from 'zod'
import { dnsServers } from '../allow-lists.ts'
import { type Setting, textThat, wholeNumber } from './setting.ts'

function contentAddress(text: string): void {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
    throw new Error('an address such as http://crawler-1:9000 is needed, without a path or a password')
}

export const fetching = {
  FETCH_CONCURRENCY: {
    schema: wholeNumber(1, 10_000).default(100),
    unit: 'requests',
    means: 'Requests in flight at once, the sum over the fetching processes of one fetcher.',
    reason: 'A hundred slow sites at once keep one core busy without filling its memory.',
    roles: ['fetcher'],
  },
  FETCH_PROCESSES: {
    schema: wholeNumber(0, 64).default(1),
    unit: 'processes',
    means: 'Fetching processes under a supervisor that kills a frozen one; 0: one process without a supervisor.',
    reason: 'More than one per core does not help, and most containers have one core.',
    roles: ['fetcher'],
  },
  PAGE_MAX_BYTES: {
    schema: wholeNumber(1).default(10 * 1024 * 1024),
    unit: 'bytes',
    means: 'Bytes of a body on the wire; a longer one is cut and marked `truncated: length`.',
    reason: 'Web pages are smaller; what is larger is mostly media.',
    roles: ['fetcher', 'permits'],
    fleet: 'live',
  },
  PAGE_SINK: {
    schema: z.string().default('warc'),
    means:
      'Whether and how the fleet keeps pages: `warc`, `s3` (WARC files in an S3-compatible store), `folder`, `none`, or the path of a module (services/fetcher/README.md). Where each fetcher puts them is its own ARCHIVE_DIR.',
    reason: 'WARC is what archives and their tools read.',
    roles: ['fetcher', 'permits', 'command'],
    fleet: 'restart',
  },
  ARCHIVE_DIR: {
    schema: z.string().default(''),
    means:
      'Folder in which this fetcher keeps pages, and a permits process those that workers of pools hand over, in the form that the fleet has agreed on (PAGE_SINK); empty: `warc` keeps nothing here, and `folder` does not start. A console on the same machine answers pages from it.',
    reason: 'Nothing is written to a folder that was not named; `decorum up` names a folder in its data folder.',
    roles: ['fetcher', 'console', 'permits', 'command'],
  },
  ARCHIVE_MAX_BYTES: {
    schema: wholeNumber(0).default(0),
    unit: 'bytes',
    means:
      'Bound of ARCHIVE_DIR; beyond it the oldest files are removed, but none that an unacknowledged outcome names (docs/content.md). 0: no bound. With PAGE_SINK=s3 nothing is removed: beyond the bound (0: 10 GB) this fetcher starts no more requests, and this permits process hands out no more orders of pools, until the store has taken some.',
    reason: 'Nothing is removed unless a bound is set; `decorum up` sets 20 GB.',
    roles: ['fetcher', 'permits'],
  },
  CONTENT_URL: {
    schema: textThat(contentAddress).default(''),
    means:
      'Address at which other machines reach the pages that this fetcher keeps, such as http://crawler-1:9000; empty: its host name and PORT, if it listens beyond loopback and has a CONTENT_TOKEN. A permits process serves no pages: for it, name a fetcher that has the same ARCHIVE_DIR.',
    reason: 'Most machines are known to the others by their host name.',
    roles: ['fetcher', 'permits'],
  },
  CONTENT_TOKEN: {
    schema: z
      .string()
      .regex(/^[\x21-\x7e]{8,256}$/, '8 to 256 printable characters without blanks are needed')
      .optional(),
    means:
      'Secret, the same for the whole fleet: programs that send it may read the pages that its fetchers keep. Without it a fetcher answers only programs on its own machine.',
    reason:
      'Pages should be read only by those who had them fetched. A secret is not kept in the shared configuration, which every console shows.',
    roles: ['fetcher', 'console'],
  },
  EGRESS: {
    schema: z.string().default(''),
    means:
      'How the requests of an agent leave this machine: path of a JSON file, or inline JSON (egress.schema.json): agent, or `*` for all others → `localAddress` or `proxy` (docs/operating.md).',
    reason:
      'Most machines have one way out. This setting is not in the shared configuration, because it may hold a login and differs by machine.',
    roles: ['fetcher', 'proxy'],
  },
  DNS_SERVERS: {
    schema: textThat(dnsServers).default(''),
    means: 'Name servers, separated by commas; empty: as the system resolves.',
    reason:
      "The system's resolver knows the local network; it answers four queries at a time, so name servers help with many slow names.",
    roles: ['fetcher', 'proxy'],
  },
} as const satisfies Record<string, Setting>
