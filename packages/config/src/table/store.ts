/** The S3-compatible store of pages with PAGE_SINK=s3: one for the fleet, because references name no other. */
import { z } from 'zod'
import { type Setting, textThat } from './setting.ts'

/** Address, and after `?region=` the region that requests are signed for. */
const ADDRESS = /^https?:\/\/[^/?#@]+\/?(\?region=[a-z0-9-]{1,64})?$/
function storeAddress(text: string): void {
  if (!URL.canParse(text) || !ADDRESS.test(text))
    throw new Error('an address such as https://s3.example.net or https://s3.example.net?region=eu-central-1 is needed')
}
const secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, '1 to 256 printable characters without blanks are needed')
  .optional()

export const store = {
  S3_ENDPOINT: {
    schema: textThat(storeAddress).or(z.literal('')).default(''),
    means:
      'Address of the S3-compatible store (path-style requests), such as https://s3.example.net; requests are signed for the region us-east-1, or for the one after `?region=`. PAGE_SINK=s3 needs it.',
    reason: 'Nothing is sent to a store that was not named.',
    roles: ['fetcher', 'permits', 'console'],
    fleet: 'restart',
  },
  S3_BUCKET: {
    schema: z.string().default(''),
    means:
      'Bucket that the pages go to; it must exist. After a slash: what the names of objects begin with, such as pages/crawl/. PAGE_SINK=s3 needs it.',
    reason: 'Decorum does not create buckets, because they cost money.',
    roles: ['fetcher', 'permits', 'console', 'command'],
    fleet: 'restart',
  },
  S3_ACCESS_KEY_ID: {
    schema: secret,
    means: 'Name of the key that requests to the store are signed with. PAGE_SINK=s3 needs it.',
    reason: 'A secret is not kept in the shared configuration, which every console shows.',
    roles: ['fetcher', 'permits', 'console'],
  },
  S3_SECRET_ACCESS_KEY: {
    schema: secret,
    means: 'That key. PAGE_SINK=s3 needs it.',
    reason: 'As above.',
    roles: ['fetcher', 'permits', 'console'],
  },
} as const satisfies Record<string, Setting>
