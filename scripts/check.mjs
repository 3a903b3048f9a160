/** `npm run check`: what a reviewer runs. Types, lint, dead code and the tests that need nothing, under a minute. */
import { availableParallelism } from 'node:os'
import { close, judges, runJudge, runSuite, sideBySide } from './parts.mjs'
import { prepare } from './prepare.mjs'
import { main } from './say.mjs'

await main(async () => {
  const { env } = await prepare()
  const tasks = [() => runSuite('unit', env, { show: false }), ...judges.map((judge) => () => runJudge(judge, env))]
  return close(await sideBySide(Math.min(availableParallelism(), 4), tasks))
})
