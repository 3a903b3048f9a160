/** Counts the steps of loops whose length depends on the content of a log: a test checks that they grow only with its size. */
export type Meter = { steps: number }
