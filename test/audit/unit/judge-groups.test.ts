import { loadPaceGroups } from '@decorum/politeness'
import { expect, test } from 'vitest'
import { found, Scene } from './scene.ts'

const HTTPS = 'https://site.test'
const rules = (scene: Scene, ...origins: string[]): Scene => {
  for (const [n, origin] of origins.entries()) scene.robots(-100_000 + n * 10_000, '', { origin })
  return scene
}

test('two schemes of one host are two lanes for a strict reader of lanes, and one pace for a reader of hosts', () => {
  const scene = rules(new Scene(), 'http://site.test', HTTPS).visit(0, '/a').visit(500, '/b', { origin: HTTPS })
  expect(found(scene.judge())).toEqual({})
  expect(found(scene.judge({ paceGroups: loadPaceGroups('') }))).toEqual({ 'pace-group': 1 })
  expect(found(scene.judge({ paceGroups: loadPaceGroups('{"host":false}') }))).toEqual({})
})

test('the silence of a group counts from the end of one to the start of the next, to a tenth of a millisecond', () => {
  const at = (start: number) =>
    rules(new Scene(), 'http://a.test', 'http://b.test')
      .visit(0, '/a', { origin: 'http://a.test', address: '192.0.2.1', ms: 30 })
      .visit(start, '/b', { origin: 'http://b.test', address: '192.0.2.1' })
      .judge({ paceGroups: loadPaceGroups('{"address":{"delayMs":200}}') })
  expect(found(at(230))).toEqual({})
  expect(at(230)).toMatchObject({ paceGroups: 1 })
  expect(found(at(229.9))).toEqual({ 'pace-group': 1 })
  expect(at(229.9).examples[0]?.because).toMatch(/address:\/\/192\.0\.2\.1 was taken for another 0\.1 ms/)
})

test('a group with two places bears two, and blames the third', () => {
  const scene = rules(new Scene(), 'http://a.test', 'http://b.test', 'http://c.test')
  for (const [n, name] of ['a', 'b', 'c'].entries())
    scene.visit(n, '/', { origin: `http://${name}.test`, address: '192.0.2.1', ms: 50 })
  const judge = (inFlight: number) =>
    found(scene.judge({ paceGroups: loadPaceGroups(JSON.stringify({ address: { delayMs: 0, inFlight } })) }))
  expect([judge(1), judge(2), judge(3)]).toEqual([{ 'pace-group': 2 }, { 'pace-group': 1 }, {}])
})
