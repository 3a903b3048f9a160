import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readStopsFile, type StopLine } from '@decorum/audit'
import { expect, onTestFinished, test } from 'vitest'
import { found, Scene } from './scene.ts'

const EPOCH = 1_790_000_000_000
const scene = (at: number, more: object = {}) => new Scene().robots(-100_000, '').visit(at, '/a', more)
const stop = (name: string, more: Partial<StopLine> = {}): StopLine => ({ name, at: EPOCH, ...more })
const judge = (at: number, stops: StopLine[], more: object = {}) => found(scene(at, more).judge({ stops }))

test('what begins within a second of a stop is not held against it; a millisecond later it is', () => {
  expect(judge(1_000, [stop('*')])).toEqual({})
  expect(judge(1_001, [stop('*')])).toEqual({ stopped: 1 })
  expect(judge(-5, [stop('*')])).toEqual({})
})

test.each(['*', 'site.test', 'test'])('a stop of %s covers the host', (name) => {
  expect(judge(5_000, [stop(name)])).toEqual({ stopped: 1 })
})

test.each(['other.test', 'www.site.test', 'ite.test', 'est'])('a stop of %s does not', (name) => {
  expect(judge(5_000, [stop(name)])).toEqual({})
})

test('a stop of an address is judged where the record names the address', () => {
  expect(judge(5_000, [stop('192.0.2.1')], { address: '192.0.2.1' })).toEqual({ stopped: 1 })
  expect(judge(5_000, [stop('[2001:db8::1]')], { address: '2001:db8::1' })).toEqual({ stopped: 1 })
  expect(judge(5_000, [stop('192.0.2.1')], { address: '192.0.2.2' })).toEqual({})
})

test('after the end of a stop, its own or because it was lifted, requests are free again', () => {
  expect(judge(5_000, [stop('*', { until: EPOCH + 5_000 })])).toEqual({})
  expect(judge(4_999, [stop('*', { until: EPOCH + 5_000 })])).toEqual({ stopped: 1 })
  expect(judge(5_000, [stop('*', { lifted: { at: EPOCH + 4_000 } })])).toEqual({})
})

test('a robots.txt is a request too, and without a record of stops nothing is said of them', () => {
  const both = new Scene().robots(2_000, '')
  expect(found(both.judge({ stops: [stop('*')] }))).toEqual({ stopped: 1 })
  expect(both.judge()).not.toHaveProperty('stops')
  expect(both.judge({ stops: [stop('*')] })).toMatchObject({ stops: 1 })
})

test.each([
  ['no JSON', '{', /JSON/],
  ['a list', '[]', /an object with 'stops' is needed/],
  ['no instant', '{"stops":[{"name":"a"}]}', /stop 1: a name and the instant/],
  ['a wrong end', '{"stops":[{"name":"a","at":1,"lifted":{}}]}', /stop 1/],
])('a file of stops with %s is refused in one sentence', async (_, text, why) => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-stops-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'stops.json')
  await writeFile(file, text)
  await expect(readStopsFile(file)).rejects.toThrow(why)
  await writeFile(file, JSON.stringify({ version: 1, stops: [{ ...stop('a'), by: 'ann', reason: 'x' }] }))
  expect(await readStopsFile(file)).toMatchObject([{ name: 'a', at: EPOCH }])
})
