/**
 * `node scripts/image.mjs [argument of buildah build …]`: the image of the Dockerfile, built by buildah without a daemon, as
 * `localhost/decorum`; prints its size. BASE names another base image, best by digest (docker.io/library/node@sha256:…). BASE=debian makes
 * one of Debian's packages (mmdebstrap) and the Node of scripts/node24, for places that reach a Debian mirror and no registry of images.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packagedNode } from './node24.mjs'
import { main, root, SetupError } from './say.mjs'

const NAME = 'localhost/decorum'
const OWN_BASE = 'localhost/decorum-base'
/** What node:…-slim has besides Debian's smallest set. */
const PACKAGES = 'ca-certificates'
const LEFT_OUT = [
  '/usr/share/doc/*',
  '/usr/share/man/*',
  '/usr/share/info/*',
  '/usr/share/locale/*',
  '/usr/share/lintian/*',
]

function run(command, args, stdout) {
  try {
    return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', stdout, 2] })
  } catch (error) {
    const why =
      error.code === 'ENOENT' ? 'is needed (Debian has a package of that name)' : 'failed: its last lines say why'
    throw new SetupError(`${command} ${why}`)
  }
}
const show = (command, ...args) => run(command, args, 2)
const read = (command, ...args) => run(command, args, 'pipe').trim()

async function baseOfDebian() {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-base-'))
  try {
    const tar = join(folder, 'base.tar')
    const leaveOut = LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`)
    show('mmdebstrap', '--variant=minbase', `--include=${PACKAGES}`, ...leaveOut, 'bookworm', tar)
    const container = read('buildah', 'from', 'scratch')
    const npm = dirname(dirname(realpathSync(read('which', 'npm'))))
    show('buildah', 'add', container, tar, '/')
    show('buildah', 'copy', container, await packagedNode(), '/usr/local/bin/node')
    show('buildah', 'copy', container, npm, '/usr/local/lib/node_modules/npm')
    const links = 'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm'
    show('buildah', 'run', container, '--', 'sh', '-c', `${links} && useradd --uid 1000 --create-home node`)
    show('buildah', 'config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', container)
    show('buildah', 'commit', '--rm', container, OWN_BASE)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return OWN_BASE
}

await main(async () => {
  const base = process.env.BASE === 'debian' ? await baseOfDebian() : process.env.BASE
  const ofBase = base === undefined ? [] : ['--build-arg', `BASE=${base}`]
  const ofCommit = existsSync(join(root, '.git')) ? ['--build-arg', `COMMIT=${read('git', 'rev-parse', 'HEAD')}`] : []
  // The form of Docker: that of OCI has no health check.
  show(
    'buildah',
    'build',
    '--format',
    'docker',
    '--layers=false',
    '--tag',
    NAME,
    ...ofBase,
    ...ofCommit,
    ...process.argv.slice(2),
    '.',
  )
  const [image] = JSON.parse(read('buildah', 'images', '--json', NAME))
  process.stdout.write(`${NAME}: ${image.size}\n`)
  return 0
})
