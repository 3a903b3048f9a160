/** A supervised process that has nothing to do and nothing to measure. */
import { type Role, runSupervised } from '@decorum/runtime'

const registry = { getMetricsAsJSON: async () => [] } as unknown as Role['registry']
await runSupervised(async () => ({ registry, isReady: () => true, stop: async () => {} }))
