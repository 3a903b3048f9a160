/** A name server on loopback that answers as its caller wants (RFC 1035, what a stub resolver needs of it). */
import { createSocket } from 'node:dgram'

/** What is said of a name. `silent`: nothing */
export type Entry = {
  a?: string[]
  aaaa?: string[]
  cname?: string
  rcode?: 'NXDOMAIN' | 'SERVFAIL'
  silent?: true
}

const RCODES = { NXDOMAIN: 3, SERVFAIL: 2 }
const [A, CNAME, AAAA] = [1, 5, 28]

/** @param entryOf  of a name in lower case; `type` is A or AAAA */
export async function nameServer(
  entryOf: (name: string, type: 'A' | 'AAAA') => Entry,
): Promise<{ address: string; close(): Promise<void> }> {
  const socket = createSocket('udp4')
  socket.on('message', (query, peer) => {
    let end = 12
    while ((query[end] ?? 0) !== 0) end += (query[end] ?? 0) + 1
    const type = query.readUInt16BE(end + 1)
    const entry = entryOf(nameAt(query, 12), type === A ? 'A' : 'AAAA')
    if (entry.silent) return
    const records: Buffer[] = []
    if (entry.cname !== undefined) records.push(record(CNAME, nameOctets(entry.cname)))
    if (type === A)
      for (const address of entry.a ?? []) records.push(record(A, Buffer.from(address.split('.').map(Number))))
    if (type === AAAA) for (const address of entry.aaaa ?? []) records.push(record(AAAA, Buffer.from(address, 'hex')))
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (entry.rcode === undefined ? 0 : RCODES[entry.rcode]), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...records]), peer.port, peer.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

function nameAt(query: Buffer, from: number): string {
  const labels: string[] = []
  for (let at = from; (query[at] ?? 0) !== 0; at += (query[at] ?? 0) + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)))
  return labels.join('.').toLowerCase()
}

const nameOctets = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ])

/** Its owner is the name of the question (a pointer to octet 12), its life one minute. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(60, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
