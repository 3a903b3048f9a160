/**
 * For a ledger that a test calls itself: what comes late, because Redis or this process stood still for some seconds, is an answer
 * all the same.
 */
export const PATIENT = { callDeadlineMs: 300_000 }
