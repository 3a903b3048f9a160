/** `npm test`: the checks, then every test: real Redis, real HTTP servers, whole processes. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { close, runChecks, runSuite } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main, root } from './say.mjs'

await main(async () => {
  const prepared = await prepare()
  // Hundreds of processes load the same modules: each is compiled by the first of them. What an earlier run kept is of another source.
  const compiled = join(root, '.cache', 'compiled')
  rmSync(compiled, { recursive: true, force: true })
  const env = { ...prepared.env, NODE_COMPILE_CACHE: compiled }
  // The checks take the time of the cores that the tests leave: what needs processes waits a lot.
  const checks = runChecks(env, 1)
  const unit = await runSuite('unit', ['unit'], env, { show: true })
  const processes = await runSuite('processes', ['processes'], env, { show: true })
  return close([...(await checks), unit, processes])
})
