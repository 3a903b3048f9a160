/**
 * Whether a URL may be visited, for every service that decides about it. Start at `robotsJudge`: what the robots.txt of an origin
 * says, as the ledger knows it. `addressGuard` says which addresses and ports may be connected to.
 */
export {
  type AddressGuard,
  addressGuard,
  BlockedAddressError,
  BlockedPortError,
  firewallRanges,
  NoContactError,
} from './address-guard.ts'
export { deadOrigin } from './dead-origin.ts'
export { Recent } from './recent.ts'
export { disallowed, type RobotsJudge, type RulesInForce, robotsJudge } from './robots-judge.ts'
export { type SenderGate, senderGate } from './sender-gates.ts'
