/** `decorum status fleet`: which processes run, where, and with which version of the configuration. */
import { type Member, passingText } from '@decorum/ledger'
import { printable } from '@decorum/protocol'
import { DONE, type ExitCode } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { printResult } from '../terminal.ts'

export async function fleet({ json }: { json?: boolean }): Promise<ExitCode> {
  return withFleetLedger<ExitCode>(async ({ ledger, version }) => {
    const members = await ledger.members()
    const lines = [`configuration version ${version}`, ...members.map((member) => lineOf(member, version))]
    printResult(json, { config: version, members }, lines.join('\n'))
    return DONE
  })
}

function lineOf({ role, slots, about }: Member, version: number): string {
  const work = role === 'fetcher' ? `, ${slots} slots` : ''
  if (about === undefined) return `${printable(role)}${work}: gives no details`
  const { host, pid, config, pending, keepsPages, passing = [] } = about
  const behind = config === version ? '' : `, not version ${version} yet`
  const pages = keepsPages === undefined ? '' : keepsPages ? ', keeps pages' : ', keeps no pages'
  const waits = pending.length === 0 ? '' : `; takes over when it is started again: ${pending.join(', ')}`
  const through = passing.map((one) => `; ${passingText(one)}`).join('')
  return printable(
    `${role} ${pid} on ${host}, Decorum ${about.version} (commit ${about.commit ?? 'unknown'})${work}${pages}, configuration ${config}${behind}${waits}${through}`,
  )
}
