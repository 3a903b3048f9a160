/** Counts the steps of the loops whose length a log could choose, so that a test can show that they grow with the log. */
export type Meter = { steps: number }
