/** Where a crawl's status is shown: bars on a terminal, a line now and then elsewhere, NDJSON with --json. */
import cliProgress from 'cli-progress'
import type { Voice } from '../say.ts'
import { type Status, sentenceOf } from './status.ts'

export type Display = {
  /** the newest status; may be called as often as there is one */
  show(status: Status): void
  /** a voice whose sentences do not tear the bars */
  readonly voice: Voice
  /** leaves the terminal as it was found; the last status stays readable */
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
      const note = status.note === undefined ? '' : `\n${PLACE}${status.note}`
      voice.say('progress', json ? undefined : `${clock()}  ${sentenceOf(status)}${note}`, status)
    },
    stop: () => undefined,
  }
}

const PLACE = ' '.repeat(10)
const clock = (): string => new Date().toTimeString().slice(0, 8)

function bars(stream: NodeJS.WriteStream): Display {
  const multi = new cliProgress.MultiBar(
    {
      stream,
      hideCursor: true,
      linewrap: false,
      gracefulExit: false,
      barsize: 24,
      autopadding: false,
      emptyOnZero: true,
    },
    cliProgress.Presets.shades_grey,
  )
  const bar = multi.create(1, 0, { text: 'starting' }, { format: '{bar} {percentage}%  {text}' })
  const below = multi.create(1, 0, { text: '' }, { format: '  {text}' })
  return {
    show(status) {
      bar.setTotal(Math.max(1, status.total))
      bar.update(status.done, { text: sentenceOf(status) })
      below.update(0, { text: status.note ?? '' })
    },
    voice: { say: (_, text) => void (text !== undefined && multi.log(`${text}\n`)) },
    stop() {
      if (!multi.isActive) return
      multi.update() // what was said since the last redraw
      multi.stop()
    },
  }
}
