/** `npm test`: the checks, then every test: real Redis, real HTTP servers, whole processes. */
import { close, runChecks, runSuite } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main } from './say.mjs'

await main(async () => {
  const { env } = await prepare()
  const results = await runChecks(env)
  // One after the other: side by side they take as long, because both cores are busy, and each waits for the other one.
  for (const project of ['unit', 'redis', 'fetcher', 'faults']) {
    results.push(await runSuite(project, env, { show: true }))
  }
  return close(results)
})
