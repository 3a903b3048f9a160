/**
 * Decides whether a URL may be fetched, for every service that needs that decision. Start at `robotsJudge`, which applies the robots.txt of
 * an origin as the ledger knows it. `addressGuard` decides which addresses and ports may be connected to.
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
