/** Parses DECORUM_PERMIT_TOKENS: who may ask for permits, for which agents and crawls. */
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'

const Entry = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'a name of small letters, digits and - is needed')
    .meta({ description: 'names the token in messages; permits of one token are unknown to the others' }),
  token: z
    .string()
    .min(16, 'at least 16 characters are needed')
    .max(512)
    .meta({ description: 'sent as Authorization: Bearer …' }),
  agents: z.array(z.string()).min(1).optional().meta({ description: 'agents of DECORUM_AGENTS; absent: all' }),
  crawls: z.array(z.string()).min(1).optional().meta({ description: 'names of crawls; absent: any' }),
  pools: z
    .array(z.string())
    .min(1)
    .optional()
    .meta({ description: 'pools whose orders it may take; absent: all, unless `crawls` is given' }),
  maxWaiting: z.int().min(1).optional().meta({ description: 'callers of this token that wait at once' }),
  maxRobotsFetches: z.int().min(1).optional().meta({
    description: 'robots.txt files that the fleet fetches for this token at once; absent: its share',
  }),
  maxRetryAfterMs: z.int().min(1_000).max(86_400_000).optional().meta({
    description:
      'longest Retry-After that is believed of this token; absent: an hour where `agents`, `crawls` or `pools` is given, else a day, as of a site itself',
  }),
})
export const PermitTokensFile = z.array(Entry).min(1).max(1_000)
export type PermitToken = z.output<typeof Entry>

const FORM = {
  name: 'DECORUM_PERMIT_TOKENS',
  opens: '[',
  schema: PermitTokensFile,
  members: Object.keys(Entry.shape),
  isSecret: true,
} as const

/**
 * @param text  path of a JSON file, or inline JSON
 * @throws      Error with a message for people when it cannot be read or is invalid
 */
export function readPermitTokens(text: string): PermitToken[] {
  const tokens = readJsonSetting(FORM, text)
  for (const member of ['name', 'token'] as const)
    if (new Set(tokens.map((one) => one[member])).size !== tokens.length)
      throw new Error(`DECORUM_PERMIT_TOKENS: two entries have the same ${member}`)
  return tokens
}
