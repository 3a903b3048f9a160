/** `npm test`: the checks, then every test: real Redis, real HTTP servers, whole processes. */
import { close, runChecks, runSuite } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main } from './say.mjs'

await main(async () => {
  const { env } = await prepare()
  const results = await runChecks(env)
  // One after the other, so that no suite disturbs what another one measures.
  for (const project of ['unit', 'redis', 'fetcher', 'faults']) {
    results.push(await runSuite(project, env, { show: true }))
  }
  return close(results)
})
