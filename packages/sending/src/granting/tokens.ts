/** Authorises callers: without tokens every program on this machine, with tokens their holders. */
import { hash, timingSafeEqual } from 'node:crypto'
import {
  type Agents,
  isLoopback,
  type PermitToken,
  readingSettings,
  readPermitTokens,
  wrongSettings,
} from '@decorum/config'
import { Recent } from '@decorum/politeness/admission'
import { Problem } from './problem.ts'

/** A caller without its secret, which only this file compares. */
export type Token = Omit<PermitToken, 'token'>

/** The caller when there are no tokens: every program of this machine, for every agent. */
export const ANYBODY: Token = { name: '' }

/** Finds the holder of a token. Digests have equal length, so the comparison takes equal time for every token. */
export function tokenGiven(given: string, tokens: readonly PermitToken[]): Token | undefined {
  const digest = digestOf(given)
  return tokens.find(({ token }) => timingSafeEqual(digest, digestOf(token)))
}

const MOST_DIGESTS = 2_000
const digests = new Recent<string, Buffer>(MOST_DIGESTS)
function digestOf(text: string): Buffer {
  const known = digests.get(text)
  if (known !== undefined) return known
  const digest = hash('sha256', text, 'buffer')
  digests.set(text, digest)
  return digest
}

export const mayBe = ({ agents }: Token, key: string): boolean =>
  agents === undefined || agents.some((name) => name.toLowerCase() === key)

/** @param crawl  the crawl requested; undefined: none. @throws Problem */
export function checkCrawl(crawl: string | undefined, { crawls }: Token): void {
  if (crawls === undefined || (crawl !== undefined && crawls.includes(crawl))) return
  throw new Problem('forbidden', `this token is for the crawls ${crawls.join(', ')}`)
}

/**
 * Reads the caller tokens from the settings of a role that grants turns. @param when  when the role needs them, for the message
 * @returns undefined: there are none, and the role listens only on loopback
 * @throws  SettingsError when the role listens beyond loopback without tokens, or when a token names an unknown agent
 */
export function permitTokens(
  { DECORUM_PERMIT_TOKENS: given, HOST }: { DECORUM_PERMIT_TOKENS?: string | undefined; HOST: string },
  agents: Agents,
  when: string,
): PermitToken[] | undefined {
  const tokens = given === undefined ? undefined : readingSettings(() => readPermitTokens(given))
  if (!isLoopback(HOST) && tokens === undefined)
    throw wrongSettings(`DECORUM_PERMIT_TOKENS: is needed when ${when} (HOST=${HOST})`)
  const unknown = (tokens ?? []).flatMap(({ name, agents: allowed = [] }) =>
    allowed
      .filter((agent) => agents.find(agent) === undefined)
      .map((agent) => `DECORUM_PERMIT_TOKENS: ${name}: there is no agent ${agent}`),
  )
  if (unknown.length > 0) throw wrongSettings(...unknown)
  return tokens
}
