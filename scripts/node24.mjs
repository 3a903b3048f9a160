/**
 * Node 24 for a machine whose own is older: the binary of the package that scripts/node24/package-lock.json pins, in a folder of node_modules that
 * `npm install` leaves alone, with a link in node_modules/.bin. Machines that have Node 24 do without its 121 MB, and none gets the headers, 67 MB.
 */
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { alone } from './alone.mjs'
import { npmCi, readableByOthers } from './npm.mjs'
import { main, root, SetupError, say } from './say.mjs'

const name = `node-${process.platform}-${process.arch}`
const isOffered = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)

/** @returns its path, installed where it was missing; undefined: there is none for this machine */
export async function packagedNode() {
  const modules = join(root, 'node_modules')
  const node = join(modules, '.node24', 'bin', 'node')
  if (!isOffered) return undefined
  if (existsSync(node)) return node
  await alone((own) =>
    readableByOthers(async () => {
      if (existsSync(node)) return // another start did it meanwhile
      say('installing Node 24')
      const folder = join(root, '.cache', 'node24')
      rmSync(folder, { recursive: true, force: true })
      cpSync(join(root, 'scripts', 'node24'), folder, { recursive: true })
      await npmCi(own, folder)
      const installed = join(folder, 'node_modules', name, 'bin', 'node')
      if (!existsSync(installed)) return // npm passes over an optional package that it cannot get
      mkdirSync(dirname(node), { recursive: true })
      const link = join(modules, '.bin', 'node')
      mkdirSync(dirname(link), { recursive: true })
      rmSync(link, { force: true })
      symlinkSync(relative(dirname(link), node), link)
      renameSync(installed, node)
      rmSync(folder, { recursive: true })
    }),
  )
  return existsSync(node) ? node : undefined
}

// By scripts/node24/launcher.
if (process.argv[1] === import.meta.filename)
  await main(async () => {
    if ((await packagedNode()) === undefined)
      throw new SetupError('no package brings Node 24 to this machine: install Node 24')
    return 0
  })
