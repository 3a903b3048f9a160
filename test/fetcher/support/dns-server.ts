/** The name server of a test: a table of names, and what it was asked. */
import { afterAll } from 'vitest'
import { type Entry, nameServer } from '../../support/name-server.ts'

export type Zone = Record<string, Entry>

export async function dnsServer(zone: Zone): Promise<{ address: string; asked: string[] }> {
  const asked: string[] = []
  const { address, close } = await nameServer((name, type) => {
    asked.push(`${name} ${type}`)
    return zone[name] ?? { rcode: 'NXDOMAIN' }
  })
  afterAll(close)
  return { address, asked }
}
