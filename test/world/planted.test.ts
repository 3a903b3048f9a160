/** Faults that are put into the fleet in virtual time are found, and the run that shows one is made short. */
import { expect, test } from 'vitest'
import { FEWER, SEED, SMALL, worldsForTest } from './in-test.ts'
import { lineOf, shrink } from './shrink.ts'
import { brokenBy, runWorld, type WorldOptions } from './world.ts'

const { redis, run } = await worldsForTest()

test.each<[string, Omit<WorldOptions, 'seed'>, RegExp]>([
  [
    'delays begin when the request does',
    { ...SMALL, ...FEWER, planted: { kind: 'script', rule: 'the-delay-counts-from-the-end', put: 'startedAt + owed' } },
    /short-delay/,
  ],
  [
    'nobody kills a fetcher that stands still',
    {
      ...FEWER,
      sites: 40,
      plain: 0.1,
      manners: ['its robots.txt is slow', 'slow', 'never answers now and then'],
      busySeconds: 40,
      planted: { kind: 'no supervisor' },
      kinds: ['freeze'],
      faultEveryMs: 1_000,
    },
    /overlap|robots-too-often/,
  ],
])('a fault that is put in is found: %s', async (_, options, offence) => {
  const found: string[] = []
  for (let seed = SEED; seed < SEED + 5 && found.length === 0; seed++)
    found.push(...brokenBy(await run({ seed, ...options })))
  expect(found.join('\n')).toMatch(offence)
})

test('a run that breaks a promise is made short, and the line that is printed plays the short one again', async () => {
  const planted = { kind: 'script', rule: 'the-delay-counts-from-the-end', put: 'startedAt + owed' } as const
  const options: WorldOptions = { seed: SEED, ...SMALL, ...FEWER, faultEveryMs: 1_000, planted }
  const whole = await run(options)
  const said: string[] = []
  const short = await shrink(
    options,
    whole,
    (tried) => runWorld(redis(), tried),
    'x',
    (line) => said.push(line),
  )
  expect(said.at(-1)).toContain(lineOf(short, 'x'))
  const again = await run(short)
  expect(brokenBy(again).join('\n')).toMatch(/short-delay/)
  expect(again.requests).toBeLessThan(whole.requests)
  expect(again.faults).toEqual([]) // the fault that was put in needs none
})
