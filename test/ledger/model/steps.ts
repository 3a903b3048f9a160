/** Which acts there are, how often each comes, and how a number becomes a step. */
import { acquire, complete, confirm, release, reserve, resolve, startOrders, store } from './acts.ts'
import { cancel, setCrawl } from './acts-crawls.ts'
import { endRobotsFetch, operate, reap, record, stops } from './acts-origins.ts'
import { claim, extend, grant, next } from './acts-permits.ts'
import { rates } from './acts-policies.ts'
import { look, view } from './compare.ts'
import { announce, crash, drain, forget, job, leap, loseHolder, pass, restartOther, snapshot } from './faults.ts'
import { type Act, diceOf, move, type Play } from './play.ts'
import * as rules from './rules.ts'

/** How often each act comes. */
const ACTS: [number, Act][] = [
  [140, store],
  [190, reserve],
  [160, startOrders],
  [130, complete],
  [50, resolve],
  [50, record],
  [20, endRobotsFetch],
  [25, acquire],
  [30, grant],
  [15, extend],
  [15, next],
  [12, claim],
  [15, release],
  [60, confirm],
  [50, reap],
  [130, pass],
  [12, view],
  [8, look],
  [12, drain],
  [6, loseHolder],
  [40, operate],
  [38, rates],
  [15, stops],
  [3, job],
  [2, snapshot],
  [2, crash],
  [1, forget],
  [2, restartOther],
  [1, announce],
  [3, leap],
]
/** Beside these in runs with several crawls. Other runs do not have them, so that what their seeds play stays the same. */
const CRAWL_ACTS: [number, Act][] = [
  [40, setCrawl],
  [40, cancel],
  [60, grant],
]
const actsOf = (crawls: boolean): [number, Act][] => (crawls ? [...ACTS, ...CRAWL_ACTS] : ACTS)
export const allOf = (crawls: boolean): number => actsOf(crawls).reduce((sum, [weight]) => sum + weight, 0)

/** A new ledger whose first hold is over. */
export async function start(play: Play): Promise<void> {
  await announce(play, diceOf(0))
  await view(play, diceOf(0))
  move(play, rules.FIRST_HOLD_MS)
}

/** @param act  0 … allOf − 1 · @param number  what the step is made of */
export async function step(play: Play, act: number, number: number): Promise<string> {
  let left = act
  for (const [weight, does] of actsOf(play.manner.crawls)) {
    if (left < weight) {
      await does(play, diceOf(number))
      return does.name
    }
    left -= weight
  }
  throw new RangeError(`there is no act ${act}`)
}
