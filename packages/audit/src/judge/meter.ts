/** Counts the steps of the loops whose length depends on the content of a log, so that a test can show that they grow only with its size. */
export type Meter = { steps: number }
