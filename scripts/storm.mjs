/** `npm run storm -- --minutes N --seed S`: sets up what is missing, then the storm of `test/storm`. */
import { inForeground } from './foreground.mjs'
import { prepare } from './prepare.mjs'
import { main, root } from './say.mjs'

await main(async () => {
  const { node, env } = await prepare()
  return inForeground(node, [`${root}/test/storm/main.ts`, ...process.argv.slice(2)], { env, cwd: root })
})
