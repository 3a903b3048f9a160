import { createConnection } from 'node:net'
import { addressGuard, BlockedAddressError, BlockedPortError, NoContactError } from '@decorum/politeness/admission'
import { readUrl, systemClock } from '@decorum/protocol'
import { type Address, failureOf } from '@decorum/sending/testing'
import { describe, expect, test } from 'vitest'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { agentsOf, ask, nameless, testConnections } from '../../fetcher/support/tools.ts'

const closed = addressGuard([])

describe('at the judge', () => {
  // oxfmt-ignore
  const guarded = [
    '0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254', '169.254.0.1',
    '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.170', '192.0.2.1', '192.88.99.1', '192.168.0.1',
    '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255',
    '::', '::1', '::127.0.0.1', '::7f00:1', '::a00:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:0:7f00:1',
    '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '2001::1', '2001:0:53aa:64c:0:fbfd:80ff:fffe',
    '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1', '2002:7f00:1::', '2002:808:808::1', '3fff::1', '4000::1', '5f00::1',
    'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', '2606:4700::1111%eth0', 'fec0::1', 'ff02::1', 'ff0e::1',
    '', 'localhost', '127.1', '0x7f.0.0.1', '010.0.0.1', '2130706433', '1.2.3', '1.2.3.4.5', '[::1]', '1.2.3.4 ', '::1%',
  ]
  test.each(guarded)('%s is guarded', (address) => expect(closed.judge(address)).toBe('guarded'))

  const open = [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.15.255.255',
    '172.32.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '2606:4700::1111',
    '2a00:1450:4001:800::200e',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
  ]
  test.each(open)('%s is public', (address) => expect(closed.judge(address)).toBe('public'))

  /** Where instances of a cloud find what trusts them. */
  const services = [
    ['AWS, GCP, Azure, OpenStack, DigitalOcean …: metadata', '169.254.169.254'],
    ['AWS: credentials of containers', '169.254.170.2'],
    ['AWS: credentials of pods', '169.254.170.23'],
    ['AWS: resolver', '169.254.169.253'],
    ['AWS: metadata, IPv6', 'fd00:ec2::254'],
    ['AWS: credentials of pods, IPv6', 'fd00:ec2::23'],
    ['Azure: WireServer, DNS', '168.63.129.16'],
    ['Azure: the same in IPv6 clothes', '::ffff:168.63.129.16'],
    ['Azure: the same in hexadecimal', '::ffff:a83f:8110'],
    ['Azure: the same behind NAT64', '64:ff9b::a83f:8110'],
    ['Alibaba: metadata', '100.100.100.200'],
    ['Alibaba: resolver', '100.100.2.136'],
    ['Oracle: metadata, older', '192.0.0.192'],
    ['Oracle: metadata, IPv6', 'fd00:c1::a9fe:a9fe'],
    ['Tencent: metadata', '169.254.0.23'],
    ['Scaleway: metadata', '169.254.42.42'],
    ['Scaleway: metadata, IPv6', 'fd00:42::42'],
    ['OpenStack: metadata, IPv6', 'fe80::a9fe:a9fe'],
    ['GCP: metadata, IPv6', 'fd20:ce::254'],
    ['GCP: restricted.googleapis.com', '199.36.153.4'],
    ['GCP: private.googleapis.com', '199.36.153.11'],
    ['GCP: restricted.googleapis.com, IPv6', '2600:2d00:2:1000::1'],
    ['GCP: private.googleapis.com, IPv6', '2600:2d00:2:2000::1'],
    ['IBM: resolver', '161.26.0.7'],
    ['IBM: private endpoint', '166.9.228.73'],
    ['IBM: private endpoint, end of the range', '166.11.255.255'],
  ] as const
  test.each(services)('a service of a cloud is guarded: %s, %s', (_, address) => {
    expect(closed.judge(address)).toBe('guarded')
  })

  test('what lies beside them is public, and they can be opened by name', () => {
    const beside = ['168.63.129.15', '168.63.129.17', '199.36.153.3', '199.36.153.12', '161.25.255.255', '161.27.0.0']
    beside.push('166.7.255.255', '166.12.0.0', '2600:2d00:2:fff::1', '2600:2d00:2:1001::1')
    for (const address of beside) expect([address, closed.judge(address)]).toEqual([address, 'public'])
    expect(addressGuard(['168.63.129.16']).judge('168.63.129.16')).toBe('opened')
    expect(addressGuard(['64:ff9b::/96']).judge('64:ff9b::a83f:8110')).toBe('guarded')
  })

  test('opened ranges open themselves and nothing beside them', () => {
    const guard = addressGuard(['10.1.0.0/16', 'fd00:1::/32', '192.168.7.7'])
    expect(['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5', '192.168.7.7'].map(guard.judge)).toEqual(
      Array(4).fill('opened'),
    )
    expect(['10.2.0.1', 'fd00:2::5', '192.168.7.8', '127.0.0.1'].map(guard.judge)).toEqual(Array(4).fill('guarded'))
    expect(guard.judge('9.9.9.9')).toBe('public')
  })

  test('opening the prefix of a NAT64 network opens the way to public addresses alone', () => {
    const guard = addressGuard(['64:ff9b::/96'])
    expect(guard.judge('64:ff9b::8.8.8.8')).toBe('public')
    expect(guard.judge('64:ff9b::7f00:1')).toBe('guarded')
  })

  test('an agent without contact is let to opened addresses only', () => {
    const guard = addressGuard(['127.0.0.0/8'])
    expect(guard.refuse('127.0.0.1', 'a', false)).toBeUndefined()
    expect(guard.refuse('8.8.8.8', 'a', false)).toBeInstanceOf(NoContactError)
    expect(guard.refuse('8.8.8.8', 'a', true)).toBeUndefined()
    expect(guard.refuse('10.0.0.1', 'a', false)).toBeInstanceOf(BlockedAddressError)
  })

  test('ports of other protocols are refused unless excepted; every other port is open', () => {
    for (const port of [0, 22, 25, 53, 110, 143, 445, 3306, 5432, 6379, 9200, 11211, 27017]) {
      expect(closed.refusePort(port)).toBeInstanceOf(BlockedPortError)
    }
    for (const port of [80, 443, 3000, 8000, 8080, 8443, 9999, 49152]) expect(closed.refusePort(port)).toBeUndefined()
    expect(addressGuard([], ['6379']).refusePort(6379)).toBeUndefined()
  })

  test('a range or a port that is none stops the start with its name', () => {
    expect(() => addressGuard(['127.0.0.0/40'])).toThrow("'127.0.0.0/40'")
    expect(() => addressGuard(['localhost'])).toThrow("'localhost'")
    expect(() => addressGuard([], ['http'])).toThrow("'http'")
    expect(() => addressGuard([], ['65536'])).toThrow("'65536'")
  })
})

describe('at the connection', () => {
  /** URL forms that a browser folds into 127.0.0.1 or another guarded address. */
  // oxfmt-ignore
  const literals = [
    'http://127.0.0.1:PORT/', 'http://2130706433:PORT/', 'http://0x7f.1:PORT/', 'http://017700000001:PORT/', 'http://127.1:PORT/',
    'http://①②⑦.0.0.1:PORT/', 'http://%31%32%37.0.0.1:PORT/', 'http://[::ffff:127.0.0.1]:PORT/', 'http://0:PORT/',
    'http://[::1]:PORT/', 'http://[::7f00:1]:PORT/',
  ]

  test.each(literals)('%s is refused without a connection', async (form) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const at = readUrl(form.replace('PORT', String(site.port)))
    if ('refused' in at) throw new Error(at.refused)
    const result = await ask(testConnections({ allow: [] }), at.origin)
    expect(result.kind === 'unanswered' && failureOf(result.error, result.phase)).toBe('blocked-address')
    expect(site.connections).toBe(0)
  })

  const answers: [string, string[]][] = [
    ['loopback', ['127.0.0.1']],
    ['a public address and loopback', ['203.0.114.1', '127.0.0.1']],
    ['mapped loopback', ['::ffff:127.0.0.1']],
    ['NAT64', ['64:ff9b::7f00:1']],
    ['6to4', ['2002:7f00:1::']],
    ['link-local with a zone', ['fe80::1%lo']],
    ['metadata', ['169.254.169.254']],
    ['a public address and a service of a cloud', ['203.0.114.1', '168.63.129.16']],
    ['no address at all', ['not an address']],
  ]
  test.each(answers)('a name at %s is refused without a connection', async (_, addresses) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const lookup = async (): Promise<Address[]> =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const result = await ask(testConnections({ allow: [], lookup }), `http://name.example:${site.port}`)
    expect(result.kind === 'unanswered' && result.error).toBeInstanceOf(BlockedAddressError)
    expect(site.connections).toBe(0)
  })

  test('a refused port is refused before any connection, also on an opened address', async () => {
    const result = await ask(testConnections(), 'http://127.0.0.1:6379')
    expect(result.kind === 'unanswered' && failureOf(result.error, result.phase)).toBe('blocked-port')
  })

  test('a name that moves to a guarded address is refused at its next connection', async () => {
    const site = await rawOrigin((socket) => void socket.end(answerOf(200, { connection: 'close' })))
    let asked = 0
    // Not kept: the guard judges every answer, whatever a cache in between does.
    const { openConnections } = await import('@decorum/sending/testing')
    const connections = openConnections({
      clock: systemClock,
      guard: addressGuard(['127.0.0.1']),
      lookup: async () => [{ address: ++asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    })
    const origin = `http://moving.example:${site.port}`
    expect((await ask(connections, origin)).kind).toBe('answered')
    const second = await ask(connections, origin)
    expect(second.kind === 'unanswered' && failureOf(second.error, second.phase)).toBe('blocked-address')
    expect(site.connections).toBe(1)
    await connections.close()
  })

  test('the connected socket has the last word: a peer that the look-up did not name is refused before the request', async () => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const { openConnections } = await import('@decorum/sending/testing')
    const real = addressGuard(['127.0.0.1'])
    let judged = 0
    // A guard that lets look-ups pass stands in for whatever might lead a socket elsewhere.
    const guard = {
      ...real,
      refuse: (a: string, h: string, c: boolean) => (++judged === 1 ? undefined : addressGuard([]).refuse(a, h, c)),
    }
    const connections = openConnections({
      clock: systemClock,
      guard,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    const result = await ask(connections, `http://name.example:${site.port}`)
    expect(result.kind === 'unanswered' && failureOf(result.error, result.phase)).toBe('blocked-address')
    expect(judged).toBe(2)
    expect(site.asked.length).toBe(0)
    await connections.close()
  })

  test('an agent without contact visits opened addresses; a public one is refused by name before any connection', async () => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    expect((await ask(testConnections(), site.origin, { agent: nameless })).kind).toBe('answered')
    const lookup = async (): Promise<Address[]> => [{ address: '203.0.114.1', family: 4 }]
    const result = await ask(testConnections({ lookup }), 'http://public.example', { agent: nameless })
    expect(result.kind === 'unanswered' && failureOf(result.error, result.phase)).toBe('no-contact')
    expect(agentsOf({}).default.hasContact).toBe(false)
  })

  test('::1 that refuses falls through to 127.0.0.1 of the same name', async () => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const lookup = async (): Promise<Address[]> => [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]
    expect(await ask(testConnections({ lookup }), `http://both.example:${site.port}`)).toMatchObject({
      kind: 'answered',
      address: '127.0.0.1',
    })
  })

  test('an origin on IPv6 loopback is reached when opened', async () => {
    const hasIPv6 = await new Promise<boolean>((resolve) => {
      const probe = createConnection({ host: '::1', port: 1 })
      probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
      probe.on('connect', () => resolve(true))
    })
    if (!hasIPv6) return // this machine has no IPv6 at all
    const site = await rawOrigin(answerOf(200).toString('latin1'), { host: '::1' })
    expect(await ask(testConnections(), site.origin)).toMatchObject({ kind: 'answered', address: '::1' })
  })
})
