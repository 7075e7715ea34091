import type { AnyLimit } from '../limits/choice.js'
import { checked } from '../limits/definition-cache.js'
import { Call } from '../native/buffer.js'
import type { LimitInfo, Store } from '../results/info.js'
import type {
  AcquireOptions,
  AcquireSyncOptions,
  BlockOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  LimitOptions,
  ObserveOptions,
} from './call-options.js'
import { acquired, closed, decided, decidedAll, explained, observed, reset } from './calls.js'
import { limitOne } from './checks.js'
import type { CallExplanation } from './explain.js'
import type { Check } from './parts.js'
import { ReceiptVerbs } from './receipt-verbs.js'
import { isTooLong, yielded } from './yields.js'

/** The verbs of a limiter, each as a promise and, under the name with `Sync`, answered at once. */
export abstract class Verbs extends ReceiptVerbs {
  readonly #store: Store

  /** @internal */
  constructor(store: Store) {
    super(store)
    this.#store = store
  }

  /**
   * Charges `cost` if it fits; with `atLeast`, as much of it as there is room for.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const tokens = bucket({ key: 'tokens', size: 300 })
   * const limiter = new Limiter()
   * assert.equal(limiter.limitSync(tokens, 'ada', { cost: 500, atLeast: 50, now: 0 }).granted, 300)
   * ```
   */
  limit<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: LimitOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    // Not an `async` function, which would take three more microtasks to pass on the promise of a shared store.
    try {
      const store = this.#store
      // The commonest call, written so that the compiler puts all of it where it is called.
      const plain = options === undefined && store.plain ? checked(limit) : undefined
      if (plain !== undefined) {
        const info = limitOne(store, plain, actor)
        return Promise.resolve(isTooLong() ? yielded(info) : info)
      }
      return Promise.resolve(decided(store, Call.Limit, limit, actor, options, false))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** {@link limit}, answered at once. */
  limitSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: LimitOptions<NoInfer<C>>,
  ): LimitInfo {
    const store = this.#store
    const plain = options === undefined && store.plain ? checked(limit) : undefined
    if (plain !== undefined) return limitOne(store, plain, actor)
    return decided(store, Call.Limit, limit, actor, options, true) as LimitInfo
  }

  /** Answers as {@link limit} would, and charges nothing. */
  async peek<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: LimitOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return decided(this.#store, Call.Peek, limit, actor, options, false)
  }

  /** {@link peek}, answered at once. */
  peekSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: LimitOptions<NoInfer<C>>,
  ): LimitInfo {
    return decided(this.#store, Call.Peek, limit, actor, options, true) as LimitInfo
  }

  /**
   * Charges `cost` even if it does not fit, for costs that are known afterwards. The excess drains like all units.
   *
   * Nothing is charged, and the call is an error, where that would take the level above 2^52 units, or above the units
   * that drain in 2^53 microseconds (285 years).
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const upload = bucket({ key: 'upload', size: 100 })
   * const limiter = new Limiter()
   * limiter.chargeSync(upload, 'ada', { cost: 150, now: 0 })
   * assert.equal(limiter.limitSync(upload, 'ada', { now: 0 }).resetSec, 51)
   * ```
   */
  async charge<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return decided(this.#store, Call.Charge, limit, actor, options, false)
  }

  /** {@link charge}, answered at once. */
  chargeSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): LimitInfo {
    return decided(this.#store, Call.Charge, limit, actor, options, true) as LimitInfo
  }

  /**
   * Explains in words how a call would be answered and why; charges nothing.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 10 })
   * const limiter = new Limiter()
   * limiter.limitSync(login, 'ada', { cost: 3, now: 0 })
   * const explanation = limiter.explainSync(login, 'ada', { now: 0 })
   * assert.equal(explanation.info.remaining, 7)
   * assert.match(String(explanation), /^"login" would admit this call: 7 of 10 units are free/)
   * ```
   */
  async explain<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<CallExplanation> {
    return explained(this.#store, limit, actor, options, false)
  }

  /** {@link explain}, answered at once. */
  explainSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): CallExplanation {
    return explained(this.#store, limit, actor, options, true) as CallExplanation
  }

  /**
   * Takes over what an upstream server said of its own limit: raises the entry until no more than `remaining` units are
   * left, and none before `retryAfterMs` is over. It never lowers an entry. At least one of both has to be given.
   *
   * @throws {@link LimitError} for a limit that is no bucket, token bucket, fixed window or smooth.
   *
   * @example
   * ```js
   * import { Limiter, tokenBucket } from 'tidegate'
   *
   * const upstream = tokenBucket({ key: 'api.example.com', count: 100, period: 60_000 })
   * const limiter = new Limiter()
   * limiter.observeSync(upstream, 'our key', { remaining: 3, now: 0 })
   * assert.equal(limiter.limitSync(upstream, 'our key', { now: 0 }).remaining, 2)
   * limiter.observeSync(upstream, 'our key', { retryAfterMs: 1500, now: 0 })
   * assert(limiter.limitSync(upstream, 'our key', { now: 0 }).resetMs >= 1500)
   * ```
   */
  async observe<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: ObserveOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return observed(this.#store, limit, actor, options, false)
  }

  /** {@link observe}, answered at once. */
  observeSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: ObserveOptions<NoInfer<C>>,
  ): LimitInfo {
    return observed(this.#store, limit, actor, options, true) as LimitInfo
  }

  /**
   * Denies every call of a limit that has a block for `forMs`, unless it is closed for longer already. 0 opens it, and
   * the next block is as short as the first one. The units that were used stay used: `reset` removes both.
   *
   * @throws {@link LimitError} for a limit without `blockFor`.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 5, blockFor: 900_000 })
   * const limiter = new Limiter()
   * assert.equal(limiter.blockSync(login, '203.0.113.9', { forMs: 3_600_000 }).resetSec, 3600)
   * assert(limiter.limitSync(login, '203.0.113.9').blocked)
   * assert(limiter.blockSync(login, '203.0.113.9', { forMs: 0 }).allowed)
   * ```
   */
  async block<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: BlockOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return closed(this.#store, limit, actor, options, false)
  }

  /** {@link block}, answered at once. */
  blockSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: BlockOptions<NoInfer<C>>,
  ): LimitInfo {
    return closed(this.#store, limit, actor, options, true) as LimitInfo
  }

  /** Removes the entry of this actor; of several limits, all at once. */
  async reset<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: ContextOptions<NoInfer<C>>,
  ): Promise<void> {
    return reset(this.#store, limit, actor, options, false)
  }

  /** {@link reset}, answered at once. */
  resetSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: ContextOptions<NoInfer<C>>,
  ): void {
    reset(this.#store, limit, actor, options, true)
  }

  /**
   * Waits for its turn, at most `maxWaitMs`. Turns come in the order of the calls. If the wait would be longer, the
   * answer is `blocked` at once; nothing is charged then, unless the limit counts denied calls. With `now` given it
   * answers at once, and `waitMs` is the time to wait.
   *
   * @throws the signal's reason; the charge is given back.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const mail = bucket({ key: 'mail', size: 1, dripRate: 500 })
   * const limiter = new Limiter()
   * await limiter.acquire(mail, 'ada')
   * const info = await limiter.acquire(mail, 'ada', { maxWaitMs: 1000 })
   * assert(!info.blocked && info.waitMs > 0 && info.waitMs <= 500)
   * ```
   */
  async acquire<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: AcquireOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return acquired(this.#store, limit, actor, options, false)
  }

  /** {@link acquire} with `now` given: answered at once, and `waitMs` is the time to wait. */
  acquireSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: AcquireSyncOptions<NoInfer<C>>,
  ): LimitInfo {
    return acquired(this.#store, limit, actor, options, true) as LimitInfo
  }

  /**
   * Decides several checks together, each with an actor of its own: either every one is charged or none.
   *
   * @example
   * ```js
   * import { bucket, Limiter, tokenBucket } from 'tidegate'
   *
   * const perAddress = bucket({ key: 'login', size: 10 })
   * const perUser = tokenBucket({ key: 'api', count: 100, period: 60_000 })
   *
   * const info = await new Limiter().limitAll([
   *   { limit: perAddress, actor: '203.0.113.9' },
   *   { limit: perUser, actor: 'ada', cost: 95 },
   * ])
   * assert.equal(info.remaining, 5)
   * assert.equal(info.key, 'api')
   * assert.deepEqual(info.checks.map((check) => check.remaining), [9, 5])
   * ```
   */
  async limitAll<C, T extends string = never>(
    checks: readonly Check<C, T>[],
    options?: DecisionOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return decidedAll(this.#store, Call.Limit, checks, options, false)
  }

  /** {@link limitAll}, answered at once. */
  limitAllSync<C, T extends string = never>(
    checks: readonly Check<C, T>[],
    options?: DecisionOptions<NoInfer<C>>,
  ): LimitInfo {
    return decidedAll(this.#store, Call.Limit, checks, options, true) as LimitInfo
  }

  /** Answers as {@link limitAll} would, and charges nothing. */
  async peekAll<C, T extends string = never>(
    checks: readonly Check<C, T>[],
    options?: DecisionOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return decidedAll(this.#store, Call.Peek, checks, options, false)
  }

  /** {@link peekAll}, answered at once. */
  peekAllSync<C, T extends string = never>(
    checks: readonly Check<C, T>[],
    options?: DecisionOptions<NoInfer<C>>,
  ): LimitInfo {
    return decidedAll(this.#store, Call.Peek, checks, options, true) as LimitInfo
  }
}
