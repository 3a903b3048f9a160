/** `decorum status fleet`: which processes run, where, and with which version of the configuration. */
import { type Member, passingText } from '@decorum/ledger'
import { printable } from '@decorum/protocol'
import { withFleetLedger } from '../fleet-ledger.ts'
import { printResult } from '../terminal.ts'

export function fleet({ json }: { json?: boolean }): Promise<void> {
  return withFleetLedger(async ({ ledger, version }) => {
    const members = await ledger.members()
    const lines = [`configuration version ${version}`, ...members.map((member) => lineOf(member, version))]
    printResult(json, { config: version, members }, lines.join('\n'))
  })
}

function lineOf({ role, slots, about }: Member, version: number): string {
  const work = role === 'fetcher' ? `, ${slots} slots` : ''
  if (about === undefined) return `${printable(role)}${work}: no details`
  const { host, pid, config, pending, keepsPages, passing = [] } = about
  const behind = config === version ? '' : `, not version ${version} yet`
  const pages = keepsPages === undefined ? '' : keepsPages ? ', keeps pages' : ', keeps no pages'
  const waits = pending.length === 0 ? '' : `; applied at its next start: ${pending.join(', ')}`
  const through = passing.map((one) => `; ${passingText(one)}`).join('')
  return printable(
    `${role} ${pid} on ${host}, Decorum ${about.version} (commit ${about.commit ?? 'unknown'})${work}${pages}, configuration ${config}${behind}${waits}${through}`,
  )
}
