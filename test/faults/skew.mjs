// Loaded before everything else in a role process, whose clocks are then wrong.
// SKEW_MS: its wall clock is off by that. SKEW_RATE: wall clock, monotonic clock and timers run at that rate.
// REDIS_RATE: the clock of Redis runs at that rate, as all processes see it that are given the same REDIS_RATE_FROM (ms since 1970).
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { SKEW_MS = 0, SKEW_RATE = 1, REDIS_RATE, REDIS_RATE_FROM } = process.env
const RealDate = Date
const [realNow, realTimeout] = [performance.now.bind(performance), setTimeout]
const from = RealDate.now()
const dateNow = () => from + (RealDate.now() - from) * SKEW_RATE + Number(SKEW_MS)
globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(dateNow())
    else super(...given)
  }
  static now() {
    return Math.floor(dateNow())
  }
}
if (SKEW_RATE !== 1) {
  performance.now = () => realNow() * SKEW_RATE
  globalThis.setTimeout = (does, ms, ...more) => realTimeout(does, ms / SKEW_RATE, ...more)
}

const TIME = 'now = t[1] * 1000 + t[2] / 1000'
if (REDIS_RATE !== undefined) {
  const { readFileSync } = fs
  fs.readFileSync = (path, ...more) => {
    const text = readFileSync(path, ...more)
    if (!String(path).endsWith('/lib/epoch.lua')) return text
    if (!text.includes(TIME)) throw new Error('epoch.lua reads TIME in another way')
    return text.replace(TIME, `${TIME}; now = ${REDIS_RATE_FROM} + (now - ${REDIS_RATE_FROM}) * ${REDIS_RATE}`)
  }
  syncBuiltinESMExports()
}
