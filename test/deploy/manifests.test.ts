/** What runs the fleet elsewhere: Kubernetes and systemd say the same as the compose file. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { firewallRanges } from '@decorum/politeness/admission'
import { describe, expect, inject, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

type Manifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: never }
type ModelOf = new (manifest: unknown) => { validate(): void }
type Pod = {
  terminationGracePeriodSeconds: number
  automountServiceAccountToken: boolean
  securityContext: { runAsNonRoot: boolean }
  volumes: { name: string }[]
  containers: {
    args: string[]
    securityContext: object
    volumeMounts: { name: string }[]
    livenessProbe?: { httpGet: { path: string; port: string } }
    readinessProbe?: object
    resources: { limits: { memory: string } }
  }[]
}

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, 'deploy', 'kubernetes')
const files = readdirSync(folder).filter((name) => name !== 'kustomization.yaml')
const manifests = files.flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => document.toJS() as Manifest),
)
function named(kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}
const podOf = (name: string): Pod =>
  (named('Deployment', name).spec as unknown as { template: { spec: Pod } }).template.spec

test('kustomization.yaml names every file, and every manifest says what it is', () => {
  const { resources } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as { resources: string[] }
  expect(resources.toSorted()).toEqual(files.toSorted())
  for (const { apiVersion, kind, metadata } of manifests)
    expect([apiVersion, kind, metadata.name]).not.toContain(undefined)
})

test('every manifest is what the schemas of Kubernetes and KEDA ask for, and a wrong value would be named', async () => {
  const check = async (manifest: Manifest): Promise<string> => {
    const { apiVersion, kind } = manifest
    const from = apiVersion.startsWith('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models'
    const { [kind]: Model } = (await import(`${from}/${apiVersion}/${kind}`)) as Record<string, ModelOf>
    if (Model === undefined) return `${apiVersion} ${kind}: there is no schema`
    try {
      new Model(manifest).validate()
      return 'valid'
    } catch (error) {
      return `${kind} ${manifest.metadata.name}: ${(error as Error).message}`
    }
  }
  for (const manifest of manifests) expect(await check(manifest)).toBe('valid')
  const wrong = structuredClone(named('Deployment', 'gateway')) as unknown as { spec: { replicas: unknown } }
  wrong.spec.replicas = 'two'
  expect(await check(wrong as unknown as Manifest)).toContain('spec/replicas must be')
})

test.each(['gateway', 'fetcher', 'console', 'permits', 'proxy'])(
  '%s: unprivileged, read-only, drained before it is killed, asked for its health',
  (name) => {
    const pod = podOf(name)
    const [container] = pod.containers
    expect(container?.args).toEqual([name])
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(35)
    expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container?.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'http' })
    expect(container?.readinessProbe).toBeDefined()
    expect(container?.resources.limits.memory).toBeDefined()
    expect(container?.volumeMounts.map((mount) => mount.name)).toEqual(pod.volumes.map((volume) => volume.name))
  },
)

test('gateways and fetchers keep all but one during a drain of nodes; fetchers and proxies reach nothing inside the cluster', () => {
  for (const name of ['gateway', 'fetcher'])
    expect(named('PodDisruptionBudget', name).spec).toMatchObject({ maxUnavailable: 1 })
  const { egress, policyTypes, podSelector } = named('NetworkPolicy', 'fetcher').spec as unknown as {
    policyTypes: string[]
    podSelector: { matchExpressions: { values: string[] }[] }
    egress: { to: { ipBlock?: object }[] }[]
  }
  expect(policyTypes).toContain('Egress')
  expect(podSelector.matchExpressions[0]?.values).toEqual(['fetcher', 'proxy'])
  const blocks = egress.flatMap(({ to }) => to).flatMap(({ ipBlock }) => ipBlock ?? [])
  expect(blocks, 'as their own guard has it').toEqual(firewallRanges())
  expect(JSON.stringify(blocks)).toContain('"10.0.0.0/8","172.16.0.0/12","192.168.0.0/16"')
})

test('Redis keeps a file, evicts nothing, has a limit and asks for a password', () => {
  const text = readFileSync(join(folder, 'redis.yaml'), 'utf8')
  for (const option of [
    '--appendonly yes',
    '--appendfsync everysec',
    '--maxmemory-policy noeviction',
    '--maxmemory 2gb',
    '--requirepass "$REDIS_PASSWORD"',
  ])
    expect(text).toContain(option)
})

describe.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('systemd', () => {
  test('accepts the unit, and would name a misspelt directive', async () => {
    const dir = await mkdtemp(join(inject('redisFolder'), 'systemd-'))
    const unit = readFileSync(join(root, 'deploy/systemd/decorum@.service'), 'utf8')
      .replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`)
      .replace(/^Documentation=.*$/m, '')
    const verify = async (text: string): Promise<string> => {
      const file = join(dir, 'decorum@gateway.service')
      await writeFile(file, text)
      const { stderr, stdout } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file], {
        encoding: 'utf8',
      })
      return stderr + stdout
    }
    expect(await verify(unit)).not.toMatch(/Unknown|Failed to parse|Invalid/)
    expect(await verify(unit.replace('KillMode', 'KilMode'))).toMatch(/Unknown key.* 'KilMode'/)
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(35)
  })
})

test('every example that keeps pages bounds them', () => {
  const root = join(import.meta.dirname, '..', '..')
  for (const file of ['docker-compose.yml', 'deploy/kubernetes/fetcher.yaml', 'deploy/systemd/decorum@.service']) {
    const text = readFileSync(join(root, file), 'utf8')
    expect(text, file).toContain('ARCHIVE_DIR')
    expect(text, file).toMatch(/ARCHIVE_MAX_BYTES.*20000000000/)
  }
})
