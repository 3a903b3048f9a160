/** `npm run bench [-- name…]`: sets up what is missing, then every benchmark of `bench/`, or those named. */
import { inForeground } from './foreground.mjs'
import { prepare } from './prepare.mjs'
import { main, root } from './say.mjs'

await main(async () => {
  const { node, env } = await prepare()
  return inForeground(node, [`${root}/bench/main.ts`, ...process.argv.slice(2)], { env, cwd: root })
})
