/**
 * The operations behind the HTTP side. ask.ts grants, leased.ts completes and extends, next-request.ts grants further requests under an
 * order, verdict.ts answers from robots.txt, pools.ts hands out the orders of pools; desk.ts is shared by all.
 */
import { Granter } from './ask.ts'
import { type DeskOptions, openDesk } from './desk.ts'
import { type Holding, openHolding } from './leased.ts'
import { Pools } from './pools.ts'
import { isShadow } from './shadow.ts'
import { ShadowPermits } from './shadow-permits.ts'

export type Permits = ReturnType<typeof openPermits>

export function openPermits(options: DeskOptions) {
  const desk = openDesk(options)
  const shadow = new ShadowPermits(desk)
  const granter = new Granter(desk, shadow)
  const holding = openHolding(desk, (permit, delayMs) => granter.ended(permit, delayMs))
  /** operations of a permit's holder */
  const held = (id: string): Holding => (isShadow(id) ? shadow : holding)
  return { desk, shadow, granter, holding, held, pools: new Pools(desk) }
}
