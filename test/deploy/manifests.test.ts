/** What runs the fleet elsewhere: Kubernetes and systemd say the same as the compose file. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { firewallRanges } from '@decorum/politeness/admission'
import { describe, expect, inject, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

type Manifest = { apiVersion: string; kind: string; metadata: { name: string }; spec: never }
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

/** What kubectl's own types make of a manifest, without a cluster; what they do not have is left out. */
function readByKubectl(manifest: Manifest): { object?: object; problem: string } {
  const args = ['set', 'serviceaccount', '--local', '-f', '-', 'any', '-o', 'json']
  const { status, stdout, stderr } = spawnSync('kubectl', args, { input: JSON.stringify(manifest), encoding: 'utf8' })
  return status === 0 ? { object: JSON.parse(stdout) as object, problem: '' } : { problem: stderr }
}

describe.skipIf(spawnSync('kubectl', ['version', '--client']).status !== 0)('kubectl', () => {
  test('reads every manifest, and of pods every field; a wrong value and a misspelt field would be named', () => {
    for (const manifest of manifests) {
      const { object, problem } = readByKubectl(manifest)
      if (['Deployment', 'StatefulSet'].includes(manifest.kind)) expect(object, problem).toMatchObject(manifest)
      else if (manifest.kind === 'ScaledObject') expect(problem).toContain('no kind "ScaledObject" is registered') // it is KEDA's
      else expect(problem).toContain('does not have a pod template') // said once it has been read
    }
    const wrong = structuredClone(named('Deployment', 'gateway')) as unknown as { spec: object }
    expect(
      readByKubectl({ ...wrong, spec: { ...wrong.spec, replicas: 'two' } } as unknown as Manifest).problem,
    ).toContain('spec.replicas of type int32')
    const misspelt = { ...wrong, spec: { ...wrong.spec, minReadySecond: 5 } } as unknown as Manifest
    expect(readByKubectl(misspelt).object).not.toMatchObject(misspelt)
  })
  test('builds all of it', () => {
    const { stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
    expect(stderr).toBe('')
    const built = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
    expect(built.map(({ kind }) => kind).sort()).toEqual(manifests.map(({ kind }) => kind).sort())
  })
})

test('fetchers are scaled by their Deployment, between bounds, by a query whose metrics the fleet has', () => {
  const { scaleTargetRef, minReplicaCount, maxReplicaCount, triggers } = named('ScaledObject', 'fetcher')
    .spec as unknown as {
    scaleTargetRef: { name: string }
    minReplicaCount: number
    maxReplicaCount: number
    triggers: { type: string; metadata: { serverAddress: string; query: string; threshold: string } }[]
  }
  expect(named('Deployment', scaleTargetRef.name)).toBeDefined()
  expect(minReplicaCount).toBeLessThan(maxReplicaCount)
  expect(triggers).toEqual([
    {
      type: 'prometheus',
      metadata: { serverAddress: expect.any(String), query: expect.any(String), threshold: '100' },
    },
  ])
  const metrics = readFileSync(join(root, 'services/console/src/watch/metrics.ts'), 'utf8')
  const names = triggers[0]?.metadata.query.match(/\bdecorum_\w+/g) ?? []
  expect(names).toHaveLength(2)
  for (const name of names) expect(metrics).toContain(`'${name}'`)
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
