/** Emergency stops, for the API and the page. */
import { EVERYTHING, type Stop, StopError, type StopRecord, stopsInForce } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { Problem } from '@decorum/runtime/http-api'
import type { StopRequest } from './questions.ts'

export type StopsAnswer = { version: number; stops: Stop[]; unreached?: number }

export async function listStops(ledger: LedgerWithViews, ended: boolean): Promise<StopsAnswer> {
  return shown(await ledger.stops.latest(), ledger, ended)
}

const shown = (record: StopRecord, ledger: LedgerWithViews, ended: boolean): StopsAnswer => ({
  version: record.version,
  stops: ended ? record.stops : stopsInForce(record, ledger.wall()),
})

/** @param by  the operator, if the request does not name one */
export async function changeStops(
  ledger: LedgerWithViews,
  asked: StopRequest,
  by: string,
): Promise<StopsAnswer | Problem> {
  const who = { names: asked.names ?? [EVERYTHING], by: asked.by ?? by, reason: asked.reason }
  const change = asked.action === 'lift' ? ledger.lift(who) : ledger.stop({ ...who, ...endOf(asked, ledger) })
  try {
    const { record, unreached } = await change
    return { ...shown(record, ledger, false), ...(unreached === 0 ? {} : { unreached }) }
  } catch (error) {
    if (error instanceof StopError) return new Problem(409, 'not-done', error.message)
    throw error
  }
}

function endOf(asked: Extract<StopRequest, { action: 'stop' }>, ledger: LedgerWithViews): { until?: number } {
  const until = asked.forMs === undefined ? asked.until : ledger.wall() + asked.forMs
  return until === undefined ? {} : { until }
}
