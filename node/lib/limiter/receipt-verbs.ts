import type { AnyLimit } from '../limits/choice.js'
import type { LimitInfo, Store } from '../results/info.js'
import type { CallOptions, TimeOptions } from './call-options.js'
import { refunded, released, renewed, settled } from './calls.js'

/** The verbs that change what a call has charged or holds, by its answer. */
export abstract class ReceiptVerbs {
  readonly #store: Store

  /** @internal */
  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Gives `cost` back, never below empty; `blocked` is true if a call of cost 1 would be denied now.
   *
   * With the answer to a call in place of a limit and an actor, it gives back the charge of that call: at most the
   * units that have not drained since, and once. A second time changes nothing.
   *
   * @throws {@link LimitError} for an answer of another limiter, or one part of an answer.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 10 })
   * const limiter = new Limiter()
   * const info = await limiter.limit(login, 'ada', { cost: 4, now: 0 })
   * assert.equal((await limiter.refund(info, { now: 1000 })).remaining, 10)
   *
   * await limiter.limit(login, 'ada', { now: 1000 })
   * assert.equal((await limiter.refund(info, { now: 1000 })).remaining, 9)
   * ```
   */
  async refund(info: LimitInfo, options?: TimeOptions): Promise<LimitInfo>
  async refund<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<LimitInfo>
  async refund(limit: unknown, actor: unknown, options?: unknown): Promise<LimitInfo> {
    return refunded(this.#store, limit, actor, options, false)
  }

  /** {@link refund}, answered at once. */
  refundSync(info: LimitInfo, options?: TimeOptions): LimitInfo
  refundSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): LimitInfo
  refundSync(limit: unknown, actor: unknown, options?: unknown): LimitInfo {
    return refunded(this.#store, limit, actor, options, true) as LimitInfo
  }

  /**
   * Replaces the cost that a call was charged by the actual one, once: gives back the difference, or charges it. Where
   * the checks of the call cost differently, it takes a list of one cost for each.
   *
   * For a call that charged nothing, nothing changes.
   *
   * @throws {@link LimitError} for an answer of another limiter, one part of an answer, or a cost out of bounds.
   *
   * @example
   * ```js
   * import { Limiter, tokenBucket } from 'tidegate'
   *
   * const tokens = tokenBucket({ key: 'llm', count: 10_000, period: 60_000 })
   * const limiter = new Limiter()
   * const info = await limiter.limit(tokens, 'ada', { cost: 4000, now: 0 })
   * assert.equal((await limiter.settle(info, 1500, { now: 0 })).remaining, 8500)
   * assert.equal((await limiter.settle(info, 9000, { now: 0 })).remaining, 8500)
   * ```
   */
  async settle(info: LimitInfo, actualCost: number | readonly number[], options?: TimeOptions): Promise<LimitInfo> {
    return settled(this.#store, info, actualCost, options, false)
  }

  /** {@link settle}, answered at once. */
  settleSync(info: LimitInfo, actualCost: number | readonly number[], options?: TimeOptions): LimitInfo {
    return settled(this.#store, info, actualCost, options, true) as LimitInfo
  }

  /**
   * Gives back the units that the call with this answer holds in limits of type concurrency, and nothing else of it,
   * once. The answer is that of those limits. {@link Limiter.hold} does this at its end.
   *
   * @throws {@link LimitError} for an answer of another limiter, one part of an answer, or one that holds no units.
   *
   * @example
   * ```js
   * import { concurrency, Limiter } from 'tidegate'
   *
   * const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
   * const limiter = new Limiter()
   * const info = await limiter.limit(exports, 'ada')
   * assert.equal(info.remaining, 2)
   * assert.equal((await limiter.release(info)).remaining, 3)
   * ```
   */
  async release(info: LimitInfo, options?: TimeOptions): Promise<LimitInfo> {
    return released(this.#store, info, options, false)
  }

  /** {@link release}, answered at once. */
  releaseSync(info: LimitInfo, options?: TimeOptions): LimitInfo {
    return released(this.#store, info, options, true) as LimitInfo
  }

  /**
   * Holds the units of the call with this answer for another lease, if all of them are still held. The new answer takes
   * the place of the old one, for the next `renew` and for {@link release}. If it is `blocked`, the place is lost:
   * stop, or ask again. {@link Limiter.hold} does this every third of a lease.
   *
   * @throws {@link LimitError} for an answer of another limiter, one part of an answer, or one that holds no units.
   *
   * @example
   * ```js
   * import { concurrency, Limiter } from 'tidegate'
   *
   * const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
   * const limiter = new Limiter()
   * let info = limiter.limitSync(exports, 'ada', { now: 0 })
   * info = limiter.renewSync(info, { now: 50_000 })
   * assert.equal(info.blocked, false)
   * assert.equal(limiter.renewSync(info, { now: 110_000 }).blocked, true)
   * ```
   */
  async renew(info: LimitInfo, options?: TimeOptions): Promise<LimitInfo> {
    return renewed(this.#store, info, options, false)
  }

  /** {@link renew}, answered at once. */
  renewSync(info: LimitInfo, options?: TimeOptions): LimitInfo {
    return renewed(this.#store, info, options, true) as LimitInfo
  }
}
