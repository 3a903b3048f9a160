/** `decorum permits conform -- COMMAND`: runs a pool worker through every situation, and judges it by the records of the sites. */
import { join } from 'node:path'
import { styleText } from 'node:util'
import { printable } from '@decorum/protocol'
import { DONE, type ExitCode, FAILED, STOPPED, UsageError } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { printJson, printStyled, warn } from '../terminal.ts'
import { SITUATIONS } from './situations.ts'
import { tryAll, type Verdict } from './trial.ts'

export type ConformOptions = {
  /** names of situations; absent: all */
  only?: string[]
  json?: boolean
}

/**
 * @returns 0 when the worker passed all situations, 1 when it did not, 3 after Ctrl-C
 * @throws  UsageError · CommandError and the errors of Redis and fleet
 */
export async function conform(command: string[], { only, json }: ConformOptions): Promise<ExitCode> {
  if (command.length === 0) throw new UsageError('conform: the command of a worker is needed after --')
  const unknown = only?.find((name) => SITUATIONS.every((one) => one.name !== name))
  if (unknown !== undefined)
    throw new UsageError(`conform: --only ${unknown}: there are ${SITUATIONS.map(({ name }) => name).join(', ')}`)
  const chosen = SITUATIONS.filter(({ name }) => only?.includes(name) ?? true)
  const interrupt = catchInterrupt(() => process.exit(STOPPED))
  interrupt.signal.addEventListener('abort', () =>
    warn('stopping: the worker and all that was started with it are ended; Ctrl-C again ends at once'),
  )
  try {
    const record = join(temporaryFolder('conform'), 'visits.ndjson')
    const verdicts = await tryAll(chosen, command, record, interrupt.signal)
    return conclude(verdicts, json === true)
  } catch (error) {
    if (interrupt.signal.aborted) return STOPPED
    throw error
  } finally {
    interrupt.release()
  }
}

function conclude(verdicts: Verdict[], json: boolean): ExitCode {
  const failed = verdicts.filter(({ complaints }) => complaints.length > 0).length
  if (json) printJson({ conforms: failed === 0, situations: verdicts }, 2)
  else {
    const sum = failed === 0 ? `all ${verdicts.length} situations passed\n` : `${failed} of ${verdicts.length} failed\n`
    printStyled(verdicts.map(lineOf).join('') + sum)
  }
  return failed === 0 ? DONE : FAILED
}

const lineOf = ({ name, means, complaints }: Verdict): string =>
  complaints.length === 0
    ? `${styleText('green', '✓')} ${name}: ${means}\n`
    : `${styleText('red', '✗')} ${name}: ${means}\n${complaints.map((one) => `    ${printable(one)}\n`).join('')}`
