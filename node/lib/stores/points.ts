/* Points that are set to a number for a time of their own, beside those that are counted in windows. */

import type { Check } from '../limiter/parts.js'
import type { Limit } from '../limits/definition-cache.js'
import { bucket } from '../limits.js'
import type { LimitInfo } from '../results/info.js'
import { BlockingCounter, LONGEST_MS, MOST_POINTS, MOST_UNITS } from './blocks.js'
import { hitsOf, type StoreOptions } from './hits.js'
import { Recent } from './recent.js'

/** A client's points. */
export interface Points {
  /** Points that were used in this window, and those that are held. */
  readonly used: number
  /** Milliseconds until they are gone; 0 if there are none. */
  readonly leftMs: number
  /** True if the client is blocked, or the store could not decide. */
  readonly blocked: boolean
  /** Points of the window alone. */
  readonly counted: number
  /** Points that were set, and those that were used since. */
  readonly held: number
  /** True while points are held, even none. */
  readonly isHeld: boolean
}

/** Counts of points. */
export class PointCounter extends BlockingCounter {
  /** Two levels that lose a unit per millisecond: one has the time that is left, the other the points above that. */
  readonly #time: Limit
  readonly #points: Limit
  readonly #times = new Recent<Limit>((size) => bucket({ key: `${this.prefix} time`, size, dripRate: 1 }))

  constructor(options: StoreOptions, library: string) {
    super(options, library)
    this.#time = this.#times.get(MOST_UNITS)
    this.#points = bucket({ key: `${this.prefix} points`, size: MOST_UNITS, dripRate: 1 })
  }

  /** Adds points, unless the client is blocked, in one decision. */
  async take(client: string, windowMs: number, points: number): Promise<Points> {
    const { checks } = await this.limiter.limitAll(this.checks(client, windowMs, points))
    const taken = pointsOf(checks)
    if (taken.blocked) return taken
    if (taken.isHeld && points > 0) await this.#moveToHeld(client, windowMs, points)
    return { ...taken, used: Math.max(taken.used, points) }
  }

  /** The points until now. */
  async look(client: string, windowMs: number): Promise<Points> {
    return pointsOf((await this.limiter.peekAll(this.checks(client, windowMs, 0))).checks)
  }

  /** Gives points back: those of the window first, never below none. A window without points lasts until its end. */
  async give(client: string, windowMs: number, points: number): Promise<void> {
    const { counted, held, leftMs, isHeld } = await this.look(client, windowMs)
    const ofHeld = Math.min(points - Math.min(points, counted), held)
    if (counted > 0 && counted <= points && !isHeld) await this.#holdNone(client, leftMs)
    if (counted > 0) await this.limiter.refund(this.window(windowMs), client, { cost: points })
    if (ofHeld > 0) await this.limiter.refund(this.#points, client, { cost: ofHeld })
  }

  /**
   * Sets points for so long, in place of all others, and blocks the client where it is to be blocked. Of several calls
   * at the same time one does, as in {@link prolong}.
   *
   * All steps are made before the first one is awaited: then they are decided one after the other, and a call that this
   * process makes later comes behind them. For a call of another process that comes between two of them, a key that stays
   * blocked is blocked throughout: the points that are held with a block end behind the next one.
   */
  async hold(client: string, windowMs: number, points: number, holdMs: number, blocks: boolean): Promise<void> {
    const cost = Math.min(Math.ceil(holdMs), LONGEST_MS)
    const limiter = this.limiter
    await Promise.all([
      limiter.reset(this.block, client),
      blocks ? this.blockFor(client, holdMs) : undefined,
      limiter.reset([this.window(windowMs), this.#time, this.#points], client),
      limiter.limitAll([
        { limit: this.#times.get(cost), actor: client, cost },
        { limit: this.#points, actor: client, cost: cost + Math.min(points, MOST_POINTS) },
      ]),
    ])
  }

  /** Holds no points for so long, unless there are some that are held. */
  async #holdNone(client: string, leftMs: number): Promise<void> {
    const cost = Math.min(leftMs, LONGEST_MS)
    const { blocked, checks } = await this.limiter.limitAll([
      { limit: this.#times.get(cost), actor: client, cost },
      { limit: this.#points, actor: client, cost },
    ])
    if (!blocked) await this.#drop(client, checks, cost)
  }

  /** Drops points that were held before: they drain for some milliseconds more than their time. */
  async #drop(client: string, checks: readonly LimitInfo[], cost: number): Promise<void> {
    const [, { quota, remaining }] = checks as [LimitInfo, LimitInfo]
    const stale = quota - remaining - cost
    if (stale > 0) await this.limiter.refund(this.#points, client, { cost: stale })
  }

  /**
   * Holds all points of a client for so long from now, unless they are held for longer. Of several calls at the same
   * time one does: the level has no room for two.
   */
  async prolong(client: string, windowMs: number, { counted, leftMs, isHeld }: Points, holdMs: number): Promise<void> {
    const missing = holdMs - (isHeld ? leftMs : 0)
    if (missing <= 0) return
    const cost = isHeld ? missing : missing + counted
    const { blocked, checks } = await this.limiter.limitAll([
      { limit: this.#times.get(holdMs), actor: client, cost: missing },
      { limit: this.#points, actor: client, cost },
    ])
    if (isHeld) return
    if (blocked) return this.#moveToHeld(client, windowMs, 1)
    await Promise.all([
      this.limiter.refund(this.window(windowMs), client, { cost: counted }),
      this.#drop(client, checks, cost),
    ])
  }

  /**
   * Puts points of the window to those that are held, so that they end with them. In between they count twice: a call
   * at the same time may be refused, but never admitted, for that.
   */
  async #moveToHeld(client: string, windowMs: number, points: number): Promise<void> {
    await Promise.all([
      this.limiter.charge(this.#points, client, { cost: points }),
      this.limiter.refund(this.window(windowMs), client, { cost: points }),
    ])
  }

  /** Forgets a client. */
  async forget(client: string, windowMs: number): Promise<void> {
    await this.limiter.reset([this.window(windowMs), this.block, this.#time, this.#points], client)
  }

  protected override checks(actor: string, windowMs: number, cost: number): Check[] {
    return [
      ...super.checks(actor, windowMs, cost),
      { limit: this.#time, actor, cost: 0 },
      { limit: this.#points, actor, cost: 0 },
    ]
  }
}

function pointsOf(checks: readonly LimitInfo[]): Points {
  const [hits, block, time, points] = checks as [LimitInfo, LimitInfo, LimitInfo, LimitInfo]
  const { count: counted, leftMs } = hitsOf(hits)
  const left = time.quota - time.remaining
  const isHeld = left > 0
  const held = isHeld ? Math.max(points.quota - points.remaining - left, 0) : 0
  const used = counted + held
  if (block.blocked) return { used, leftMs: block.resetMs, blocked: true, counted, held, isHeld }
  return { used, leftMs: isHeld ? time.fullResetMs : leftMs, blocked: false, counted, held, isHeld }
}
