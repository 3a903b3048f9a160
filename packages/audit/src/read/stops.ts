/** Reads the emergency stops of a fleet from a file. */
import { readFile } from 'node:fs/promises'
import type { StopLine } from '../record.ts'
import { UnreadableLogError, unreadable } from './lines.ts'

/**
 * @param file  the output of `decorum stop list --ended --json`
 * @throws UnreadableLogError when it cannot be read or has other content
 */
export async function readStopsFile(file: string): Promise<StopLine[]> {
  let given: unknown
  try {
    given = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw unreadable(file, error)
  }
  const stops = isObject(given) ? given.stops : undefined
  if (!Array.isArray(stops))
    throw new UnreadableLogError(
      `${file}: an object with 'stops' is needed, as 'decorum stop list --ended --json' prints it`,
    )
  return stops.map((stop: unknown, at) => {
    if (isStop(stop)) return stop
    throw new UnreadableLogError(
      `${file}: stop ${at + 1}: a name and the instant 'at' are needed, and its ends are instants`,
    )
  })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isInstant = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value)

function isStop(value: unknown): value is StopLine {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '' || !isInstant(value.at)) return false
  const { until, lifted } = value
  return (
    (until === undefined || isInstant(until)) && (lifted === undefined || (isObject(lifted) && isInstant(lifted.at)))
  )
}
