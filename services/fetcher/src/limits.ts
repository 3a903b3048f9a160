/** How orders are started and completed together. The limits of one request: packages/sending/src/limits.ts. */

/** A lane that is due this soon is started already, so that the round trip to the ledger does not add to its delay. */
export const START_AHEAD_MS = 40
/** Lanes that become due within this are started together: a call to the ledger costs more than one more lane in it. */
export const START_TOGETHER_MS = 24
/** The round trip to the ledger mostly takes less than this. */
export const START_TRIP_MS = 4
/** The longest that the end of an exchange waits for others, to be reported together; a fiftieth of its delay where that is less. */
export const GATHER_MS = 20
