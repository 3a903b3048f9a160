/**
 * The bench in a network of its own: nothing but loopback, so that no crawler, browser or library reaches a public address, whatever it
 * tries. Started by peers.bench.ts within `unshare`; says a row of results in each line of its output.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeAuthority } from './authority.ts'
import { measure, ownEnv } from './cell.ts'
import { startGuard } from './guard.ts'
import { findPeer } from './install.ts'
import { PEERS } from './table.ts'

export type Wanted = {
  only: string[]
  through: boolean[]
  processes: number[]
  schemes: ('http' | 'https')[]
  seeds: number[]
  short: boolean
}
export type Said = { row: Awaited<ReturnType<typeof measure>> } | { missing: string; peer: string }

async function main(wanted: Wanted): Promise<void> {
  const outside = Object.keys(networkInterfaces()).filter((name) => name !== 'lo')
  if (outside.length > 0) throw new Error(`this network is not loopback alone: ${outside.join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'decorum-peers-'))
  const say = (said: Said): void => void process.stdout.write(`${JSON.stringify(said)}\n`)
  try {
    const authority = makeAuthority(folder)
    const guard = wanted.through.includes(true) ? await startGuard(ownEnv(), authority) : undefined
    for (const peer of PEERS) {
      if (wanted.only.length > 0 && !wanted.only.includes(peer.key)) continue
      const installed = findPeer(peer)
      if (typeof installed === 'string') {
        say({ peer: peer.key, missing: installed })
        continue
      }
      for (const through of wanted.through)
        for (const processes of wanted.processes)
          for (const scheme of wanted.schemes)
            for (const seed of wanted.seeds) {
              const cell = { through, processes, scheme, seed, short: wanted.short }
              say({ row: await measure(peer, installed, cell, { authority, guard: through ? guard : undefined }) })
            }
    }
    await guard?.stop()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  // The bench has ended, and with this process all that it has started does: it is the first one of its namespace
  process.stdin.resume().once('end', () => process.exit(1))
  await main(JSON.parse(process.argv[2] ?? '{}') as Wanted)
  process.exit()
}
