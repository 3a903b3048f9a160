/** Starts a fetching process. Loads nothing that its supervisor needs later, so that the process starts first. */
import { fileURLToPath } from 'node:url'
import type { EarlyProcess } from '@decorum/runtime/early-process'
import { forkSupervised } from '@decorum/runtime/supervised-process'

export const CHILD = fileURLToPath(new URL('child.ts', import.meta.url))

/** Starts one fetching process that waits for its settings. */
export const forkFetching = (): EarlyProcess => forkSupervised(CHILD)
