/** `decorum doctor`: finds settings that weaken a promise or will stop the fleet, and says how to fix each. */
import { styleText } from 'node:util'
import { environmentOf, SETTINGS } from '@decorum/config'
import { printable } from '@decorum/protocol'
import { factsOf } from '../doctor/facts.ts'
import { type Finding, judge } from '../doctor/findings.ts'
import { DONE, type ExitCode, FAILED } from '../exit.ts'
import { readCliSettings } from '../settings.ts'
import { printJson, printStyled } from '../terminal.ts'

export type DoctorOptions = { json?: boolean; host: string[] }

/** @returns  FAILED when a finding is bad, else DONE */
export async function doctor({ json, host }: DoctorOptions): Promise<ExitCode> {
  readCliSettings(process.env) // wrong settings are reported first
  const findings = judge(
    await factsOf({
      hosts: host,
      dnsServers: (process.env.DNS_SERVERS ?? '').split(/[\s,]+/).filter((one) => one !== ''),
      slots: Number(SETTINGS.FETCH_CONCURRENCY.schema.parse(process.env.FETCH_CONCURRENCY || undefined)),
      haveContacts: (fleet) =>
        readCliSettings(environmentOf(fleet, process.env)).agents.list.every(({ hasContact }) => hasContact),
    }),
  )
  if (json) printJson({ findings })
  else for (const finding of findings) printStyled(`${lineOf(finding)}\n`)
  return findings.some(({ state }) => state === 'bad') ? FAILED : DONE
}

const COLOURS = { ok: 'green', warn: 'bold', bad: 'red' } as const

function lineOf({ check, state, says, mend }: Finding): string {
  const word = styleText(COLOURS[state], state.padEnd(4))
  const text = `${word}  ${printable(check)}: ${printable(says)}`
  return mend === undefined ? text : `${text}\n      → ${printable(mend)}`
}
