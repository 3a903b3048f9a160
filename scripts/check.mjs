/** `npm run check`: what a reviewer runs. Types, lint, dead code and the tests that need nothing, under a minute. */
import { close, runChecks, runSuite } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main } from './say.mjs'

await main(async () => {
  const { env } = await prepare()
  const results = await runChecks(env)
  results.push(await runSuite('unit', ['unit'], env, { show: false }))
  return close(results)
})
