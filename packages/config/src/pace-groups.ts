/** Parses PACE_GROUPS: which lanes share a delay or a limit of requests in flight. @decorum/politeness applies it. */
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'

const delayMs = z
  .int()
  .min(0)
  .max(86_400_000)
  .meta({ description: 'delay of the group after each of its requests, ms' })
const Group = z.strictObject({
  delayMs,
  inFlight: z
    .int()
    .min(1)
    .max(16)
    .default(1)
    .meta({ description: 'requests at once; each of so many places keeps the delay by itself' }),
  sharedByAgents: z.boolean().default(false).meta({
    description: 'true: all agents share the group; false: each agent has its own, as it has its own crawl-delay',
  }),
})
const HOST = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^\[[0-9a-f:.]+\]$/
const List = Group.extend({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'a name of small letters, digits and - is needed')
    .meta({ description: 'names the group where it holds a request back' }),
  hosts: z
    .array(z.string().regex(HOST, "a host such as 'www.example.com', or '*.example.com' for all below it"))
    .min(1)
    .max(10_000)
    .meta({ description: "hosts such as 'www.example.com', or '*.example.com' for all below it" }),
})

export const PaceGroupsFile = z.strictObject({
  host: z
    .union([z.boolean(), Group.extend({ delayMs: delayMs.optional() })])
    .default(true)
    .meta({ description: 'true: the lanes of one host share its delay; false: they do not' }),
  domain: Group.optional().meta({ description: 'registrable domain (Public Suffix List with its private part)' }),
  address: Group.optional().meta({ description: 'the address that is connected to' }),
  lists: z.array(List).max(1_000).default([]).meta({ description: 'hosts named one by one' }),
})
export type PaceGroupSettings = z.output<typeof PaceGroupsFile>

const members = [...Object.keys(PaceGroupsFile.shape), ...Object.keys(List.shape)]
const FORM = { name: 'PACE_GROUPS', opens: '{', schema: PaceGroupsFile, members } as const

/**
 * @param text  path of a JSON file, or inline JSON; empty: only hosts share a delay
 * @throws      Error with a message for people when it cannot be read or is invalid
 */
export function readPaceGroups(text: string | undefined): PaceGroupSettings {
  const read = readJsonSetting(FORM, text || '{}')
  const names = read.lists.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`PACE_GROUPS: two lists have the name ${twice}`)
  return read
}
