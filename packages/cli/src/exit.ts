/** How a command ends: exit codes (docs/spec/design.md §4), and errors whose message is shown without a stack. */
import { explainRefusal, isExplained } from '@decorum/protocol/redis-refusal'

export const DONE = 0
export const FAILED = 1
export const USAGE = 2
/** Stopped by a limit or by Ctrl-C: nothing failed, and the remaining URLs stay stored. */
export const STOPPED = 3
/** Only for `audit`: no violation, but part of the logs could not be judged. */
export const PARTLY_JUDGED = 4
export type ExitCode = 0 | 1 | 2 | 3 | typeof PARTLY_JUDGED

/** A mistake of the caller: a wrong option, an unreadable file, an unknown agent. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The work cannot go on: Redis does not answer, a port is in use. The message is shown without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Names of errors that are mistakes of the caller, in whichever package they are defined. */
const MISTAKES = new Set(['UsageError', 'SettingsError', 'StopError', 'CrawlError'])

/** Errors whose message is written for people; a stack would only hide it. */
const PRINTED = new Set([
  'CommandError',
  'LedgerUnavailableError',
  'LedgerUnfitError',
  'FrontierUnavailableError',
  'FrontierUnfitError',
  'ProcessEndedError',
  'OvertakenError',
])

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The exit code of an error, and the text to print: a sentence, or the stack if it is a bug of Decorum. */
export function explainError(error: unknown): { code: ExitCode; text: string } {
  if (!(error instanceof Error)) return { code: FAILED, text: String(error) }
  if (error.name === 'RedisAddressError') return { code: USAGE, text: `REDIS_URL: ${error.message}` }
  if (MISTAKES.has(error.name)) return { code: USAGE, text: error.message }
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return { code: FAILED, text: portInUse(error) }
  if (error.name === 'ReplyError' && isExplained(error.message))
    return { code: FAILED, text: `Redis refuses: ${explainRefusal(error.message)}` }
  if (PRINTED.has(error.name)) return { code: FAILED, text: error.message }
  return { code: FAILED, text: error.stack ?? error.message }
}

function portInUse(error: Error & { address?: string; port?: number }): string {
  return `port ${error.port ?? ''} of ${error.address ?? 'this machine'} is in use: set PORT to another one, or to 0 for any free one`
}
