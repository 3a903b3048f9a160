/**
 * Faults that were mended once, or that others have thought of, each put back into the code of today: where the code that had it is gone, into what took its
 * place.
 */
import type { PutBack } from './fault.ts'
import { IN_OTHERS } from './others.ts'
import { IN_SCRIPTS } from './scripts.ts'
import { IN_SENDING } from './sending.ts'

export const FAULTS: readonly PutBack[] = [...IN_SENDING, ...IN_OTHERS, ...IN_SCRIPTS]
