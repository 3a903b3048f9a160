/** `decorum status top`: the state of the fleet, redrawn every second on a terminal; on a pipe, printed once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { type FleetStatus, fleetStatus } from '@decorum/console/status'
import type { Member } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { printable } from '@decorum/protocol'
import { DONE, messageOf } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { catchInterrupt } from '../interrupt.ts'
import { some } from '../say.ts'
import { columns, drawScreen, leaveScreen, printJson, printText } from '../terminal.ts'
import { readersBehind } from './status.ts'

export type TopOptions = { json?: boolean; every: number }

const USUAL = { columns: 80, rows: 24 }

export function top({ json, every }: TopOptions): Promise<void> {
  const out = process.stdout
  return withFleetLedger(async ({ ledger, outcomesLimit, version }) => {
    const view = viewOf(ledger, outcomesLimit)
    if (json) printJson(await view())
    else if (!out.isTTY) printText(linesOf(await view(), version, { ...USUAL, rows: 200 }).join('\n'))
    else await follow(view, version, every)
  })
}

type Viewing = () => Promise<FleetStatus & { perSecond: number | undefined }>

/** Returns a function that reads the state of the fleet, with the outcomes per second since its previous call. */
function viewOf(ledger: LedgerWithViews, outcomesLimit: number): Viewing {
  let before: { at: number; outcomes: number } | undefined
  return async () => {
    const seen = await fleetStatus(ledger, outcomesLimit)
    const now = { at: performance.now(), outcomes: seen.totals.outcomes }
    const elapsed = before === undefined ? 0 : (now.at - before.at) / 1_000
    const perSecond =
      before === undefined || elapsed <= 0 ? undefined : Math.max(0, now.outcomes - before.outcomes) / elapsed
    before = now
    return { ...seen, perSecond }
  }
}

async function follow(view: Viewing, version: number, every: number): Promise<void> {
  const out = process.stdout
  const interrupt = catchInterrupt(() => process.exit(DONE))
  const ended = new AbortController()
  const signal = AbortSignal.any([interrupt.signal, ended.signal])
  const onKey = (key: Buffer) => {
    if (key.some((byte) => ENDING_KEYS.has(byte))) ended.abort()
  }
  const keys = process.stdin.isTTY ? process.stdin : undefined
  keys?.setRawMode(true)
  keys?.on('data', onKey)
  try {
    while (!signal.aborted) {
      const size = { columns: out.columns || USUAL.columns, rows: out.rows || USUAL.rows }
      const lines = await view().then(
        (seen) => linesOf(seen, version, size),
        (error: unknown) => [styleText('red', printable(messageOf(error)))],
      )
      if (!signal.aborted) drawScreen(lines, out)
      await sleep(every * 1_000, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    leaveScreen(out)
    keys?.off('data', onKey)
    keys?.setRawMode(false)
    keys?.pause()
    interrupt.release()
  }
}

const TONES = { calm: 'dim', moving: 'green', polite: 'green', trouble: 'red' } as const
const LANES = 12
/** q, and Ctrl-C and Ctrl-D as a terminal in raw mode sends them. */
const ENDING_KEYS: ReadonlySet<number> = new Set([0x71, 3, 4])

function linesOf(
  { headline, totals, members, lanes, perSecond, readers }: Awaited<ReturnType<Viewing>>,
  version: number,
  size: { columns: number; rows: number },
): string[] {
  const cut = (text: string) => {
    const shown = printable(text)
    return shown.length > size.columns ? `${shown.slice(0, size.columns - 1)}…` : shown
  }
  const dim = (text: string) => styleText('dim', cut(text))
  const tableOf = (rows: string[][]): string[] => columns(rows).map((line, n) => (n === 0 ? dim(line) : cut(line)))
  const cellsOf = ({ role, id, slots, about }: Member): string[] => {
    const config = about === undefined ? '' : `${about.config}${about.config === version ? '' : `≠${version}`}`
    const pid = String(about?.pid ?? id.slice(0, 8))
    return [role, pid, about?.host ?? '', about?.version ?? '', config, slots > 0 ? String(slots) : '']
  }
  const rate = perSecond === undefined ? '…' : perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))
  const sums = [
    `${rate} outcomes/s`,
    `${totals.inFlight} in flight`,
    `${some(totals.waiting, 'URL')} in lanes`,
    some(totals.candidates, 'candidate'),
    `${some(totals.due, 'lane')} due`,
    `${totals.unread} unread`,
  ]
  const all = [
    styleText(['bold', TONES[headline.tone]] as never, cut(headline.title)),
    cut(headline.sentence),
    '',
    cut(sums.join(' · ')),
    '',
    ...tableOf([['ROLE', 'PROCESS', 'HOST', 'DECORUM', 'CONFIG', 'SLOTS'], ...members.map(cellsOf)]),
    '',
    ...tableOf([
      ['STATE', 'URLS', 'LANE'],
      ...lanes.slice(0, LANES).map(({ state, waiting, name }) => [state, String(waiting), name]),
    ]),
    ...readersBehind(readers).slice(0, 3).map(dim),
  ]
  return all.slice(0, Math.max(1, size.rows - 1))
}
