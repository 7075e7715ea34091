/* Units of limits of type concurrency, which requests hold until they have ended. */

import { Hold } from '../limiter/hold.js'
import type { Limiter } from '../limiter/limiter.js'
import { LimitInfo } from '../results/info.js'
import { elapsed } from '../time/timers.js'
import type { Plan } from './plan.js'

/** The decisions that hold units. Where the store cannot release, their lease does, and events tell of it. */
const holds = new WeakMap<LimitInfo, { readonly hold: Hold; readonly plan: Plan }>()

/** Renews what a decision has taken until it is ended; of a denied request that is given back at once. */
export function beginHold(limiter: Limiter, info: LimitInfo, plan: Plan): void {
  const receipt = plan.leaseMs(info) === undefined ? undefined : LimitInfo.receipt(info)
  if (receipt === undefined) return
  if (info.blocked) limiter.release(info).catch(ignored)
  else holds.set(info, { hold: new Hold(receipt.store, info, elapsed()), plan })
}

/** True if a decision holds units until it is ended. */
export const isHeld = (info: LimitInfo): boolean => holds.has(info)

/** Releases what a decision holds, and gives back all else that it charged where it is not to stay. */
export function endCharge(limiter: Limiter, info: LimitInfo, isCharged: boolean): void {
  const held = holds.get(info)
  if (held === undefined) {
    if (!isCharged) limiter.refund(info).catch(ignored)
    return
  }
  if (!isCharged) held.hold.settle(held.plan.checks.map(() => 0))
  held.hold.release().catch(ignored)
}

const ignored = (): void => {}
