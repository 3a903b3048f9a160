/** Progress messages of a command: sentences for people on stderr, or NDJSON events on stdout with --json. */
import { printable } from '@decorum/protocol'
import type { RoleEvent, RoleLine } from './fleet.ts'
import { printJson, warn } from './terminal.ts'

/** Prints an event: `text` is for people, the rest for programs; without a text it is for programs only. */
export type Print = (event: string, text: string | undefined, data?: object) => void

/** @param printLine  prints a line of JSON; default: on stdout. @param prefix  begins each line for people */
export function printerOf(
  json: boolean | undefined,
  printLine: (value: object) => void = printJson,
  prefix = '',
): Print {
  return (event, text, data = {}) => {
    if (json) printLine({ event, ...data, text })
    else if (text !== undefined) warn(text.replace(/^/gm, prefix))
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
export function troubleReporter(print: Print): (event: RoleEvent) => void {
  const printedAt = new Map<string, number>()
  return (event) => {
    if (event.kind === 'died') {
      const { name, how, againInMs } = event
      const text = `${name} ended (${how}); it is started again in ${againInMs / 1_000} s`
      print('died', text, { name, how, againInMs })
    } else if (event.kind === 'line' && event.line.level >= WARN && !event.starting) {
      const { name, line } = event
      const key = `${name} ${line.msg}`
      const now = performance.now()
      if (now - (printedAt.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return
      if (printedAt.size > 1_000) printedAt.clear()
      printedAt.set(key, now)
      print('trouble', `${name}: ${printable(sentence(line))}`, { name, line })
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

/** '1 URL', '2 URLs' */
export const some = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`
