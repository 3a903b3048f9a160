/** Whoever floods a fleet runs on machines of its own: here its processes get what the fleet leaves of the processors. */
export const NICE = 10
