/** What a command says while it works: sentences for people on stderr, or NDJSON events on stdout with --json. */
import type { RoleEvent, RoleLine } from './fleet.ts'

export type Voice = {
  /** something that happened; `text` is for people, the rest for programs; without a text it is for programs alone */
  say(event: string, text: string | undefined, data?: object): void
}

export function voiceOf(json: boolean): Voice {
  return {
    say(event, text, data = {}) {
      if (json) process.stdout.write(`${JSON.stringify({ event, ...data, ...(text === undefined ? {} : { text }) })}\n`)
      else if (text !== undefined) process.stderr.write(`${text}\n`)
    },
  }
}

/** Of a fleet's events those that people must hear: warnings, errors, crashes; not what each says at its start. */
export function sayTrouble(voice: Voice, event: RoleEvent): void {
  if (event.kind === 'died') {
    const { name, how, againInMs } = event
    voice.say('died', `${name} ended (${how}); it is started again in ${againInMs / 1_000} s`, { name, how, againInMs })
  } else if (event.kind === 'line' && event.line.level >= WARN && !event.starting) {
    voice.say('trouble', `${event.name}: ${sentence(event.line)}`, { name: event.name, line: event.line })
  }
}

/** pino's level */
const WARN = 40

function sentence({ msg, err }: RoleLine): string {
  const why = typeof err === 'object' && err !== null && 'message' in err ? err.message : err
  return typeof why === 'string' && why !== msg ? `${msg}: ${why}` : msg
}

/** How this very command is typed, so that what we print can be pasted. */
export const called = (env: NodeJS.ProcessEnv): string =>
  env.npm_lifecycle_event === 'start' ? 'npm start --' : 'decorum'
