/** start: turns reservations into leases, right before the first byte is sent. */
import { START_ANSWER, START_ITEM } from '../calls.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { StartAnswer, StartRequest } from '../types.ts'

export async function start(
  scripts: Scripts,
  { leaseMs, grantAheadMs }: VerbSettings,
  requests: StartRequest[],
): Promise<StartAnswer[]> {
  const items = requests.flatMap(({ agent, origin, fence, kind, version, delayMs, paceLane }) =>
    START_ITEM.write({
      lane: laneName(agent, origin),
      ...{ fence, kind, version, delayMs },
      paceLane: paceLane === undefined ? '' : laneName(paceLane.agent, paceLane.origin),
    }),
  )
  const { values } = await scripts.call('start', { leaseMs, aheadMs: grantAheadMs }, items)
  return values.map((text) => readAnswer(text, leaseMs))
}

function readAnswer(text: string, leaseMs: number): StartAnswer {
  const { answer, waitMs, paceFence, paceDelayMs } = START_ANSWER.read(text.split('|'))
  if (answer === 'granted') {
    const paceLane = paceFence === '' ? {} : { paceLane: { fence: Number(paceFence), delayMs: Number(paceDelayMs) } }
    return { kind: answer, leaseMs, ...(Number(waitMs) > 0 ? { waitMs: Number(waitMs) } : {}), ...paceLane }
  }
  if (answer === 'early') return { kind: answer, waitMs: Number(waitMs) }
  return { kind: 'refused', why: answer as Extract<StartAnswer, { kind: 'refused' }>['why'] }
}
