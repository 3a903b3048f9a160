/** Progress messages of a command: sentences for people on stderr, or NDJSON events on stdout with --json. */
import { printable } from '@decorum/protocol'
import type { RoleEvent, RoleLine } from './fleet.ts'
import { tellJson, warn } from './terminal.ts'

export type Voice = {
  /** an event; `text` is for people, the rest for programs; without a text it is for programs only */
  say(event: string, text: string | undefined, data?: object): void
}

export function voiceOf(json: boolean): Voice {
  return {
    say(event, text, data = {}) {
      if (json) tellJson({ event, ...data, ...(text === undefined ? {} : { text }) })
      else if (text !== undefined) warn(text)
    },
  }
}

/** The same message is printed at most once in this time, ms. */
const AGAIN_MS = 60_000
/** pino's level */
const WARN = 40

/**
 * A listener that prints the events of a fleet that matter to a user: crashes, warnings, errors; not the messages of each process about
 * its settings, and not the same message repeatedly.
 */
export function troubleReporter(voice: Voice): (event: RoleEvent) => void {
  const said = new Map<string, number>()
  return (event) => {
    if (event.kind === 'died') {
      const { name, how, againInMs } = event
      voice.say('died', `${name} ended (${how}); it is started again in ${againInMs / 1_000} s`, {
        name,
        how,
        againInMs,
      })
    } else if (event.kind === 'line' && event.line.level >= WARN && !event.starting) {
      const key = `${event.name} ${event.line.msg}`
      const now = performance.now()
      if (now - (said.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return
      if (said.size > 1_000) said.clear()
      said.set(key, now)
      voice.say('trouble', `${event.name}: ${printable(sentence(event.line))}`, { name: event.name, line: event.line })
    }
  }
}

function sentence({ msg, err, error, reason }: RoleLine): string {
  const cause = err ?? error ?? reason
  const why = typeof cause === 'object' && cause !== null && 'message' in cause ? cause.message : cause
  return typeof why === 'string' && why !== '' && why !== msg ? `${msg}: ${why}` : msg
}

/** The name under which this command was started, so that printed commands can be pasted. */
export const called = (env: NodeJS.ProcessEnv): string =>
  env.npm_lifecycle_event === 'start' ? 'npm start --' : 'decorum'
