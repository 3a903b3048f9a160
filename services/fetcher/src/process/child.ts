/** The program of a fetching process. */
import { bundled } from '@decorum/runtime/bundled'

await import(bundled(new URL('fetching-process.ts', import.meta.url)))
