/** Shows a crawl's status: bars on a terminal, occasional lines elsewhere, NDJSON with --json. */
import { length } from '@decorum/console/words'
import { printable } from '@decorum/protocol'
import cliProgress from 'cli-progress'
import type { Print } from '../say.ts'
import { shown } from '../terminal.ts'
import { partsOf, type Status, sentenceOf } from './status.ts'

export type Display = {
  /** shows the newest status; may be called for every status */
  show(status: Status): void
  /** prints messages without disturbing the bars */
  readonly print: Print
  /** restores the terminal; the last status stays readable */
  stop(): void
}

const LINE_EVERY_MS = 5_000

export function displayOn(stream: NodeJS.WriteStream, json: boolean, print: Print): Display {
  return !json && stream.isTTY ? bars(stream) : lines(json, print)
}

function lines(json: boolean, print: Print): Display {
  let next = performance.now() + LINE_EVERY_MS
  return {
    print,
    show(status) {
      if (performance.now() < next) return
      next = performance.now() + LINE_EVERY_MS
      const note = status.note === undefined ? '' : `\n${PLACE}${printable(status.note)}`
      print('progress', json ? undefined : `${clock()}  ${sentenceOf(status)}${note}`, status)
    },
    stop: () => undefined,
  }
}

const PLACE = ' '.repeat(10)
const clock = (): string => new Date().toTimeString().slice(0, 8)

/** Three rows: progress, counts, and the reason for waiting. Removed at the end, because the summary follows. */
function bars(stream: NodeJS.WriteStream): Display {
  const multi = new cliProgress.MultiBar(
    {
      stream,
      barsize: 30,
      linewrap: false,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false, // the command handles signals
      forceRedraw: true, // messages printed above push the rows down
      emptyOnZero: true,
    },
    cliProgress.Presets.shades_grey,
  )
  const row = (format: string): cliProgress.SingleBar => multi.create(1, 0, { text: '' }, { format })
  const [far, how, why] = [row('{bar} {percentage}%  {text}'), row('{text}'), row('{text}')]
  return {
    show(status) {
      const [first, ...rest] = partsOf(status)
      const eta = status.etaMs === undefined ? '' : ` · ETA ${length(status.etaMs)}`
      far.setTotal(Math.max(1, status.total))
      far.update(status.done, { text: printable(`${first}${eta}`) })
      how.update(0, { text: printable(rest.join(' · ')) })
      why.update(0, { text: printable(status.note ?? '') })
    },
    print(_, text) {
      if (text !== undefined) multi.log(`${fold(shown(text), stream.columns)}\n`)
    },
    stop() {
      if (!multi.isActive) return
      multi.update() // prints messages since the last redraw
      multi.stop()
    },
  }
}

/** Wraps lines at the width of the terminal, because the bars disable the terminal's own wrapping. */
function fold(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${Math.max(20, columns - 1)}}(?:\\s|$)|\\S+`, 'g')) ?? [''])
    .map((line) => line.trimEnd())
    .join('\n')
}
