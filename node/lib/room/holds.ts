/* Units of limits of type concurrency, which requests hold until they have ended. */

import { Hold } from '../limiter/hold.js'
import type { Limiter } from '../limiter/limiter.js'
import { LimitInfo } from '../results/info.js'
import { elapsed } from '../time/timers.js'
import type { Plan } from './plan.js'

interface Held {
  readonly hold: Hold
  /** The number of checks that the decision had. */
  readonly checks: number
}

/** The decisions of a limiter that hold units. Where the store cannot release, their lease does, and events tell of it. */
export class Holds {
  readonly #limiter: Limiter
  readonly #held = new WeakMap<LimitInfo, Held>()

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  /** Renews what a decision has taken until it is ended; of a denied request that is given back at once. */
  begin(info: LimitInfo, { checks, leaseMs }: Plan): void {
    const receipt = leaseMs(info) === undefined ? undefined : LimitInfo.receipt(info)
    if (receipt === undefined) return
    if (info.blocked) this.#limiter.release(info).catch(ignored)
    else this.#held.set(info, { hold: new Hold(receipt.store, info, elapsed()), checks: checks.length })
  }

  has(info: LimitInfo): boolean {
    return this.#held.has(info)
  }

  /** Releases what a decision holds, and gives back all else that it charged where it is not to stay. */
  end(info: LimitInfo, isCharged: boolean): void {
    const held = this.#held.get(info)
    if (held === undefined) {
      if (!isCharged) this.#limiter.refund(info).catch(ignored)
      return
    }
    if (!isCharged) held.hold.settle(Array<number>(held.checks).fill(0))
    held.hold.release().catch(ignored)
  }
}

const ignored = (): void => {}
