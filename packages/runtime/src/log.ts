/**
 * The log of a role process: JSON lines with the names of their levels, and on a terminal lines for people. pino-pretty was not taken: it
 * parses the line and prints text from outside unchanged, control characters included.
 */
import { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { printable, printableLog, systemClock } from '@decorum/protocol'
import { type DestinationStream, type Logger, pino } from 'pino'
import { defined } from './defined.ts'

/** @param base  present in every line; default: pino's own (process id and host) */
export function roleLog(
  level: string,
  base?: Record<string, unknown>,
  out: NodeJS.WriteStream = process.stdout,
): Logger {
  const options = {
    ...printableLog,
    level,
    ...defined({ base }),
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return out.isTTY ? pino(options, forPeople(out)) : pino(options)
}

/** Converts lines of JSON to lines for people; in other lines only unprintable characters are escaped. */
export function forPeople(out: Pick<NodeJS.WriteStream, 'write'>): DestinationStream {
  return new Writable({
    decodeStrings: false,
    write(chunk: unknown, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') out.write(`${lineForPeople(line)}\n`)
      done()
    },
  })
}

const COLOURS: Record<string, 'red' | 'yellow' | 'dim'> = { error: 'red', fatal: 'red', warn: 'yellow', debug: 'dim' }
/** Fields that the line already shows, or that are useless on a terminal. */
const LEFT_OUT: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg'])

/** 14:03:22 WARN message  name=value … */
export function lineForPeople(json: string): string {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json) as Record<string, unknown>
  } catch {
    return printable(json)
  }
  const level = textOf(line.level ?? 'info')
  const time = new Date(Number(line.time ?? systemClock.machine())).toTimeString().slice(0, 8)
  const colour = COLOURS[level]
  const word = level.toUpperCase().padEnd(5)
  const more = Object.entries(line)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${printable(name)}=${printable(textOf(value))}`)
  const message = printable(textOf(line.msg ?? ''))
  const rest = more.length === 0 ? '' : `  ${styleText('dim', more.join(' '), { validateStream: false })}`
  return `${time} ${colour === undefined ? word : styleText(colour, word, { validateStream: false })} ${message}${rest}`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
