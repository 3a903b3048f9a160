/** The rows of a crawl on a terminal, and its lines elsewhere. */

import { Writable } from 'node:stream'
import { displayOn, type Status, type Print, printerOf } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const STATUS: Status = {
  done: 5,
  total: 20,
  totalKnown: true,
  waiting: 14,
  inFlight: 1,
  backingOff: 2,
  pagesPerMinute: 60,
  etaMs: 15_000,
  note: undefined,
}

/** A terminal that remembers what was written to it. */
function terminal(columns: number): { stream: NodeJS.WriteStream; text: () => string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk)
      done()
    },
  })
  Object.assign(stream, {
    isTTY: true,
    columns,
    rows: 20,
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
  })
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => text }
}

test('on a terminal: how far, how it goes, why it waits, and what is said is folded to its width', () => {
  const { stream, text } = terminal(40)
  const display = displayOn(stream, false, printerOf(false))
  display.show({ ...STATUS, note: 'polite, not stalled' })
  display.print('trouble', 'a sentence that is longer than forty characters are')
  display.stop()
  expect(text()).toContain('25%  5/20 done · ETA 15 s')
  expect(text()).toContain('14 waiting · 1 in flight · 2 backing off · 60 pages/min')
  expect(text()).toContain('polite, not stalled')
  expect(text()).toContain('a sentence that is longer than forty\ncharacters are\n')
  const before = text()
  display.stop()
  expect(text()).toBe(before)
})

test('without a terminal: not a line for every status', () => {
  const said: string[] = []
  const print: Print = (event) => void said.push(event)
  const display = displayOn(terminal(80).stream, true, print)
  for (let n = 0; n < 100; n++) display.show(STATUS)
  display.stop()
  expect(said).toEqual([]) // the first one is due after five seconds
})
