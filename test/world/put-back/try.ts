/** `node try.ts NAME SOCKET SECONDS SEED`: runs with one fault put back, until one breaks a promise or so much CPU is used. Prints one line of JSON. */
import { putBack } from './hook.ts'
import { FAULTS } from './table.ts'

const [, , name, path = '', seconds = '60', seed = '1'] = process.argv
const fault = FAULTS.find((one) => one.name === name)
if (fault === undefined) throw new Error(`no fault is called '${name}'`)
if ('file' in fault) putBack(fault)
const { Redis } = await import('ioredis')
const { brokenBy, runWorld } = await import('../world.ts')
const real = new Redis({ path, retryStrategy: null })
const began = process.cpuUsage()
const cpu = (): number => {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}
const { MUTANTS } = await import('../../ledger/model/mutants.ts')
const mutant = 'mutant' in fault ? MUTANTS.find((one) => one.name === fault.mutant) : undefined
if ('mutant' in fault && mutant === undefined) throw new Error(`test/ledger/model/mutants.ts has no '${fault.mutant}'`)
const planted = mutant && { planted: { kind: 'script' as const, rule: mutant.rule, put: mutant.put } }
let found: { seed: number; why: string } | undefined
for (let at = Number(seed); found === undefined && cpu() < Number(seconds); at++) {
  const report = await runWorld(real, { seed: at, ...sizeOf(at), ...fault.options, ...planted })
  const [why] = brokenBy(report)
  if (why !== undefined) found = { seed: report.seed, why }
}
console.log(JSON.stringify({ name, seconds: Number(cpu().toFixed(1)), ...found }))
real.disconnect()

/** Many small worlds find more in a minute than few large ones; every third is as large as usual. */
function sizeOf(seed: number) {
  return seed % 3 === 0 ? {} : { sites: 24, busySeconds: 30, plain: 0.2, faultEveryMs: 1_000, fetchers: 3 }
}
