/** Dependencies and Node 24, on a machine that has any Node ≥ 20 with npm. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { ensureBundle } from './bundle.mjs'
import { ensureDependencies } from './dependencies.mjs'
import { packagedNode } from './node24.mjs'
import { root, SetupError } from './say.mjs'

const WANTED = 24
const OLDEST = 20

/**
 * Sets up what is missing.
 * @returns {Promise<{ node: string, env: NodeJS.ProcessEnv }>} a Node 24, and an environment whose PATH finds it
 *   and the project's tools first
 */
export async function prepare() {
  if (major() < OLDEST) {
    throw new SetupError(
      `Node ${process.version} is too old to set Decorum up: install Node ${WANTED} together with npm`,
    )
  }
  await ensureDependencies()
  const node = await node24()
  await ensureBundle()
  const tools = join(root, 'node_modules', '.bin')
  const path = [tools, dirname(node), process.env.PATH].filter(Boolean).join(delimiter)
  return { node, env: { ...process.env, PATH: path } }
}

const major = () => Number.parseInt(process.versions.node, 10)

async function node24() {
  // After npm ci this very program may be gone; a file at the same place is the same version.
  if (major() >= WANTED && existsSync(process.execPath)) return process.execPath
  const packaged = await packagedNode()
  if (packaged !== undefined && spawnSync(packaged, ['--version']).status === 0) return packaged
  throw new SetupError(
    `Decorum runs on Node ${WANTED}, this is ${process.version}, and no package brings Node ${WANTED} ` +
      `to this machine (${process.platform} ${process.arch}): install Node ${WANTED}`,
  )
}
