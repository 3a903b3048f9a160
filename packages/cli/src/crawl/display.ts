/** Where a crawl's status is shown: bars on a terminal, a line now and then elsewhere, NDJSON with --json. */
import { printable } from '@decorum/protocol'
import cliProgress from 'cli-progress'
import type { Voice } from '../say.ts'
import { shown } from '../terminal.ts'
import { duration, partsOf, type Status, sentenceOf } from './status.ts'

export type Display = {
  /** the newest status; may be called as often as there is one */
  show(status: Status): void
  /** prints messages without disturbing the bars */
  readonly voice: Voice
  /** restores the terminal; the last status stays readable */
  stop(): void
}

const LINE_EVERY_MS = 5_000

export function displayOn(stream: NodeJS.WriteStream, json: boolean, voice: Voice): Display {
  return !json && stream.isTTY ? bars(stream) : lines(json, voice)
}

function lines(json: boolean, voice: Voice): Display {
  let next = performance.now() + LINE_EVERY_MS
  return {
    voice,
    show(status) {
      if (performance.now() < next) return
      next = performance.now() + LINE_EVERY_MS
      const note = status.note === undefined ? '' : `\n${PLACE}${printable(status.note)}`
      voice.say('progress', json ? undefined : `${clock()}  ${sentenceOf(status)}${note}`, status)
    },
    stop: () => undefined,
  }
}

const PLACE = ' '.repeat(10)
const clock = (): string => new Date().toTimeString().slice(0, 8)

/** Three rows: progress, counts, and why the crawl waits. Removed at the end, because the summary follows. */
function bars(stream: NodeJS.WriteStream): Display {
  const multi = new cliProgress.MultiBar(
    {
      stream,
      barsize: 30,
      linewrap: false,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false, // signals are the command's
      forceRedraw: true, // what is said above pushes the rows down
      emptyOnZero: true,
    },
    cliProgress.Presets.shades_grey,
  )
  const row = (format: string): cliProgress.SingleBar => multi.create(1, 0, { text: '' }, { format })
  const [far, how, why] = [row('{bar} {percentage}%  {text}'), row('{text}'), row('{text}')]
  return {
    show(status) {
      const [first, ...rest] = partsOf(status)
      const eta = status.etaMs === undefined ? '' : ` · ETA ${duration(status.etaMs)}`
      far.setTotal(Math.max(1, status.total))
      far.update(status.done, { text: printable(`${first}${eta}`) })
      how.update(0, { text: printable(rest.join(' · ')) })
      why.update(0, { text: printable(status.note ?? '') })
    },
    voice: { say: (_, text) => void (text !== undefined && multi.log(`${fold(shown(text), stream.columns)}\n`)) },
    stop() {
      if (!multi.isActive) return
      multi.update() // what was said since the last redraw
      multi.stop()
    },
  }
}

/** Lines no longer than the terminal is wide: the rows switch its own wrapping off. */
function fold(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${Math.max(20, columns - 1)}}(?:\\s|$)|\\S+`, 'g')) ?? [''])
    .map((line) => line.trimEnd())
    .join('\n')
}
