/**
 * `node try.ts NAME SOCKET SECONDS SEED [without]`: runs with one fault put back, until one breaks a promise, or the product throws in one, or so much CPU is used.
 * With `without` it plays one run as those are, and nothing is put back. Prints one line of JSON. Any other error ends it with exit code 1.
 */
import { putBack, thrownBy } from './hook.ts'
import { FAULTS } from './table.ts'

const [, , name, path = '', seconds = '60', seed = '1', how] = process.argv
const isPutBack = how !== 'without'
const fault = FAULTS.find((one) => one.name === name)
if (fault === undefined) throw new Error(`no fault is called '${name}'`)
const isLoaded = isPutBack && 'file' in fault ? putBack(fault) : () => true
const { Redis } = await import('ioredis')
const { brokenBy, runWorld } = await import('../world.ts')
const { MUTANTS } = await import('../../ledger/model/mutants.ts')
const mutant = 'mutant' in fault ? MUTANTS.find((one) => one.name === fault.mutant) : undefined
if ('mutant' in fault && mutant === undefined) throw new Error(`test/ledger/model/mutants.ts has no '${fault.mutant}'`)
const planted = mutant && isPutBack && { planted: { kind: 'script' as const, rule: mutant.rule, put: mutant.put } }
const real = new Redis({ path, retryStrategy: null })
await real.ping()
const began = process.cpuUsage()
const cpu = (): number => {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}
/** of promises that nobody waits for */
const unheard = Promise.withResolvers<never>()
process.on('uncaughtException', (error: Error) => unheard.reject(error))

let found: { seed: number; why: string } | undefined
for (let at = Number(seed); found === undefined && cpu() < Number(seconds); at++) {
  const why = await played(at)
  if (why !== undefined) found = { seed: at, why }
  if (!isPutBack) break
}
if (!isLoaded()) throw new Error('its file was never loaded, so nothing was put back')
console.log(JSON.stringify({ name, seconds: Number(cpu().toFixed(1)), ...found }))
process.exit() // a run that has thrown may go on

/** @returns what a run has broken, if anything. @throws what is no fault of the product */
async function played(at: number): Promise<string | undefined> {
  try {
    const run = runWorld(real, { seed: at, untilWrong: true, ...sizeOf(at), ...fault?.options, ...planted })
    return brokenBy(await Promise.race([run, unheard.promise]))[0]
  } catch (error) {
    await real.ping() // without Redis everything fails
    const place = thrownBy(error as Error)
    if (place === undefined || !isLoaded()) throw error
    return `${place} has thrown: ${(error as Error).message}`
  }
}

/** Many small worlds find more in a minute than few large ones; every third is as large as usual. */
function sizeOf(seed: number) {
  return seed % 3 === 0 ? {} : { sites: 24, busySeconds: 30, plain: 0.2, faultEveryMs: 1_000, fetchers: 3 }
}
