/** `npm test`: what check judges, then every test: real Redis, real HTTP servers, whole processes. */
import { close, runJudges, runSuite } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main } from './say.mjs'

await main(async () => {
  const { env } = await prepare()
  const results = await runJudges(env)
  // One after the other: what a suite measures, another must not disturb.
  for (const project of ['unit', 'redis', 'fetcher', 'faults']) {
    results.push(await runSuite(project, env, { show: true }))
  }
  return close(results)
})
