/** A Redis that refuses: its own reason, and what to write in REDIS_URL, whichever part of it the library has lost. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@decorum/cli/local-redis/testing'
import { openFrontier } from '@decorum/client'
import { LedgerUnfitError, linkTo, reachRedis } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis.ts'

const CERTS = fileURLToPath(new URL('../fetcher/certs/', import.meta.url))

async function redisWith(more: Record<string, string>) {
  const redis = await startRedis({ more, isNew: false })
  onTestFinished(() => redis.stop())
  return redis
}

const reach = async (url: string): Promise<void> => {
  const link = linkTo(url, { away: 'fail', lazyConnect: true, connectTimeout: 1_000 })
  await reachRedis(link, { deadline: { clock: systemClock, ms: 1_000 }, isOwn: true }, async () => undefined)
  link.disconnect()
}

test('no password, and a wrong one: how REDIS_URL is written', async () => {
  const { port } = await redisWith({ requirepass: 'a@b' })
  const place = `127.0.0.1:${port}`
  await expect(reach(`redis://${place}`)).rejects.toThrow(
    `NOAUTH Authentication required → write REDIS_URL as redis://user:password@${place}`,
  )
  await expect(reach(`redis://:ab@${place}`)).rejects.toThrow(/WRONGPASS .* → write REDIS_URL as .* percent-encoded/)
  await expect(openFrontier({ redis: `redis://:ab@${place}` })).rejects.toThrow(/WRONGPASS .* → write REDIS_URL as/)
  await reach(`redis://:a%40b@${place}`)
})

test('too many connections', async () => {
  const { port, url } = await redisWith({ maxclients: '1' })
  const held = connect(port, '127.0.0.1')
  onTestFinished(() => void held.destroy())
  held.write('PING\r\n')
  await once(held, 'data')
  await expect(reach(url)).rejects.toThrow('max number of clients reached → raise maxclients')
})

test('a user that may not do what the fleet does', async () => {
  const { port, url } = await redisWith({})
  const raw = new Redis(url)
  onTestFinished(() => raw.disconnect())
  await raw.call('ACL', 'SETUSER', 'few', 'on', '>pw', '~*', '&*', '+@all', '-info')
  await expect(openFrontier({ redis: `redis://few:pw@127.0.0.1:${port}` })).rejects.toThrow(/NOPERM .* → .*ACL SETUSER/)
})

test('a database that there is not is refused, not replaced by the first one', async () => {
  const { url } = await redisWith({})
  await expect(reach(`${url}/99`)).rejects.toThrow(LedgerUnfitError)
  await expect(reach(`${url}/99`)).rejects.toThrow('DB index is out of range → ')
})

test('a unix socket', async () => {
  const redis = await redisWith({ unixsocket: 'redis.sock' })
  await reach(`unix://${join(redis.dir, 'redis.sock')}?db=1`)
  await expect(reach(`unix://${join(redis.dir, 'other.sock')}`)).rejects.toThrow('there is no such socket')
})

test('TLS with a client certificate; without one, without the authority and without TLS the refusal says which is missing', async () => {
  const pem = join(CERTS, 'good.pem')
  const tls = { 'tls-cert-file': pem, 'tls-key-file': pem, 'tls-ca-cert-file': join(CERTS, 'ca.pem') }
  const port = await freePort()
  const { url } = await redisWith({ 'tls-port': String(port), ...tls })
  const ca = `ca=${join(CERTS, 'ca.pem')}`
  await reach(`rediss://127.0.0.1:${port}?${ca}&cert=${pem}&key=${pem}`)
  await reach(`rediss://localhost:${port}?${ca}&cert=${pem}&key=${pem}&servername=127.0.0.1`)
  await expect(reach(`rediss://127.0.0.1:${port}?${ca}`)).rejects.toThrow(
    'wants a client certificate → write REDIS_URL as rediss://',
  )
  await expect(reach(`rediss://127.0.0.1:${port}`)).rejects.toThrow('of an unknown authority → ')
  await expect(reach(`redis://127.0.0.1:${port}`)).rejects.toThrow('write REDIS_URL as rediss://')
  await expect(reach(url.replace('redis:', 'rediss:'))).rejects.toThrow(`speaks no TLS → write REDIS_URL as redis://`)
  expect(() => linkTo(`rediss://a?ca=${CERTS}none.pem`, { away: 'fail', lazyConnect: true })).toThrow(
    'cannot be read (ENOENT)',
  )
  expect(readFileSync(pem, 'utf8')).toContain('PRIVATE KEY') // both are in one file here
})

test('a Sentinel with a password of its own names the master, which has another one', async () => {
  const master = await redisWith({ requirepass: 'masters' })
  const sockets = new Set<Socket>()
  const heard: string[] = []
  const sentinel = createServer((socket) => {
    sockets.add(socket)
    socket.on('data', (octets) => {
      for (const command of octets.toString().split(/(?=\*\d+\r\n)/)) {
        heard.push(command)
        if (/get-master-addr-by-name/i.test(command))
          socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${String(master.port).length}\r\n${master.port}\r\n`)
        else socket.write(/sentinel/i.test(command) ? '*0\r\n' : '+OK\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(sentinel, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    sentinel.close()
  })
  const { port } = sentinel.address() as { port: number }
  await reach(`sentinel://:masters@127.0.0.1:${port}/main?sentinel-username=us&sentinel-password=a%2Bb`)
  expect(heard.join('')).toMatch(/us\r\n\$3\r\na\+b/)
  expect(heard.join('')).not.toContain('masters')
  await expect(reach('sentinel://127.0.0.1:1/main')).rejects.toThrow('ECONNREFUSED 127.0.0.1:1 → nothing listens there')
  await expect(reach(`sentinel://127.0.0.1:${master.port}/main`)).rejects.toThrow('NOAUTH')
})
