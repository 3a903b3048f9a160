/** `npm run world -- --hours N --seed S`: sets up what is missing, then runs of `test/world`. */
import { inForeground } from './foreground.mjs'
import { prepare } from './prepare.mjs'
import { main, root } from './say.mjs'

await main(async () => {
  const { node, env } = await prepare()
  return inForeground(node, [`${root}/test/world/main.ts`, ...process.argv.slice(2)], { env, cwd: root })
})
