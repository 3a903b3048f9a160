/** `npm start -- <command> …`: sets up what is missing, then runs the `decorum` command. Without a command: `up`. */
import { existsSync } from 'node:fs'
import { inForeground } from './foreground.mjs'
import { prepare } from './prepare.mjs'
import { main, root } from './say.mjs'

await main(async () => {
  const { node, env } = await prepare()
  const args = process.argv.slice(2)
  if (args[0] === '--') args.shift()
  const command = `${root}/packages/cli/src/main.ts`
  return inForeground(node, [command, ...(args.length > 0 ? args : ['up'])], { env, cwd: whereTyped() })
})

/** npm moves to the project's folder and notes where the user stood: FILE arguments are relative to that. */
function whereTyped() {
  const { npm_lifecycle_event: script, INIT_CWD: typed } = process.env
  return script === 'start' && typed && existsSync(typed) ? typed : process.cwd()
}
