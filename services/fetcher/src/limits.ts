/** Limits for starting and completing orders together. The limits of one request: packages/sending/src/limits.ts. */

/** A lane that is due this soon is started early, so that the round trip to the ledger does not add to its delay. */
export const START_AHEAD_MS = 40
/** Lanes that become due within this time are started together: a call to the ledger costs more than one more lane in it. */
export const START_TOGETHER_MS = 24
/** The round trip to the ledger mostly takes less than this. */
export const START_TRIP_MS = 4
/** Longest time that the end of an exchange waits to be reported together with others; at most a fiftieth of its delay. */
export const GATHER_MS = 20
