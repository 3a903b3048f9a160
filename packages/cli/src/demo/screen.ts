/** The output of the demo while it runs: a few lines to read, and a moving progress line. */
import { styleText } from 'node:util'
import { printable } from '@decorum/protocol'
import { printStyled, rewriteLine } from '../terminal.ts'

export type Screen = ReturnType<typeof screenOn>

const BAR = 28
const PIPE_EVERY_MS = 5_000

/** @param out  stream for people; the progress line moves only on a terminal */
export function screenOn(out: NodeJS.WriteStream) {
  let moving = false
  let lastPrinted = performance.now()
  /** Ends the moving line. */
  const settle = () => {
    if (moving) printStyled('\n', out)
    moving = false
  }
  return {
    /** Prints a line. */
    line: (text = '') => {
      settle()
      printStyled(`${text}\n`, out)
    },
    /** Prints a fact: name and text in two columns. */
    fact: (name: string, text: string) => {
      settle()
      printStyled(`  ${styleText('dim', name.padEnd(11), { stream: out })} ${printable(text)}\n`, out)
    },
    /** Redraws the progress line on a terminal; on a pipe prints it every 5 s. */
    progress: (done: number, all: number, text: string) => {
      const count = `${String(done).padStart(String(all).length)} of ${all} outcomes`
      if (out.isTTY) {
        const full = Math.round((done / Math.max(all, 1)) * BAR)
        const bar =
          styleText('green', '█'.repeat(full), { stream: out }) +
          styleText('dim', '░'.repeat(BAR - full), { stream: out })
        rewriteLine(`  ${bar} ${count} · ${printable(text)}`.slice(0, (out.columns || 80) + 40), out)
        moving = true
      } else if (performance.now() - lastPrinted >= PIPE_EVERY_MS) {
        lastPrinted = performance.now()
        printStyled(`  ${count} · ${printable(text)}\n`, out)
      }
    },
    settle,
  }
}
