/** Other versions of Decorum, as folders whose code can be run beside this tree's. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { THIS_TREE } from './worker.ts'

const run = promisify(execFile)
const LOCK = 'package-lock.json'
const TREE = ['package.json', LOCK, 'packages', 'services']
/** Its version is the one that processes announce. */
const ANNOUNCED = 'packages/config/package.json'

/**
 * This tree's code under another version number.
 * @param folder  is made; not inside this tree
 */
export async function copyOfThisTree(folder: string, version: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of TREE) await cp(join(THIS_TREE, name), join(folder, name), { recursive: true })
  const announced = JSON.parse(await readFile(join(folder, ANNOUNCED), 'utf8')) as Record<string, unknown>
  await writeFile(join(folder, ANNOUNCED), JSON.stringify({ ...announced, version }))
  await linkModules(folder)
}

/**
 * The code of a commit of this repository. Where its lock file differs from this tree's, `npm ci` installs its dependencies.
 * @param folder  is made; not inside this tree
 * @throws Error for a commit that this repository does not have
 */
export async function treeOfCommit(folder: string, commit: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'tree.tar')
  await run('git', ['archive', `--output=${archive}`, commit], { cwd: THIS_TREE })
  await run('tar', ['-xf', archive, '-C', folder])
  const [theirs, ours] = await Promise.all([folder, THIS_TREE].map((tree) => readFile(join(tree, LOCK), 'utf8')))
  if (theirs === ours) await linkModules(folder)
  else await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
}

/** All modules are this tree's but for Decorum's own packages, which are the folder's. */
async function linkModules(folder: string): Promise<void> {
  const modules = join(THIS_TREE, 'node_modules')
  await mkdir(join(folder, 'node_modules'))
  for (const name of await readdir(modules))
    if (name !== '@decorum') await symlink(join(modules, name), join(folder, 'node_modules', name))
  await cp(join(modules, '@decorum'), join(folder, 'node_modules/@decorum'), {
    recursive: true,
    verbatimSymlinks: true,
  })
}
