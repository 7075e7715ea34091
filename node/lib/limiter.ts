import { Call } from './buffer.js'
import { limitOne } from './checks.js'
import type { AnyLimit } from './choice.js'
import type { ClockOption } from './clock.js'
import { checked } from './compiled.js'
import { answered } from './errors.js'
import { eventName, type Listeners, listenerFrom, type StoreEvent, type StoreEventName } from './events.js'
import type { Standing } from './explain.js'
import type { LimitInfo, Store } from './info.js'
import { native } from './native.js'
import type {
  AcquireOptions,
  AcquireSyncOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  TimeOptions,
} from './options.js'
import type { Check } from './parts.js'
import { settled } from './settle.js'
import { type LimiterStats, statsOf } from './stats.js'
import { type LimiterOptions, storeOf } from './stores.js'
import { clear, type Health, ping } from './upkeep.js'
import { acquiredAtOnce, acquiredLater, decided, decidedAll, explained, neverWaits, refunded, reset } from './verbs.js'
import { yielding } from './yields.js'

/** The engine's side of a limiter goes when nothing on this side can name it any more. */
const collected = new FinalizationRegistry<number>((handle) => native.freeLimiter(handle))

const CLOSED = 0

/**
 * Decides calls against limits, and keeps what has to be kept in its store.
 *
 * Every call comes as a promise and as a `Sync` twin. In memory nothing is ever waited for (save by `acquire`), so
 * both do the same. Over a store that others share a call is a round trip, or none where the answer is known already;
 * a twin throws a {@link StoreError} there, for it cannot wait.
 *
 * Every call throws, or rejects with, a {@link LimitError} for a definition, an actor, a cost, a factor or a time that
 * cannot be, and a {@link StoreError} once the limiter is closed.
 *
 * A limiter does not keep the process alive, but a call that waits for its answer does.
 *
 * @example
 * ```js
 * import { bucket, Limiter } from 'tidegate'
 *
 * const limiter = new Limiter()
 * const login = bucket({ key: 'login', size: 2 })
 *
 * assert.equal((await limiter.limit(login, 'ada')).blocked, false)
 * assert.equal(limiter.limitSync(login, 'ada').blocked, false)
 *
 * const denied = limiter.limitSync(login, 'ada')
 * assert.equal(denied.blocked, true)
 * assert.equal(denied.resetSec, 1)
 * ```
 *
 * Wherever a limit goes, so does a function of the caller's own context that says which, or which several:
 *
 * @example
 * ```js
 * import { bucket, Limiter } from 'tidegate'
 *
 * const plans = { free: bucket({ key: 'api', size: 10 }), paid: bucket({ key: 'api/paid', size: 1000 }) }
 * const byPlan = (user) => plans[user.plan]
 * const info = await new Limiter().limit(byPlan, 'ada', { context: { plan: 'paid' } })
 * assert.equal(info.remaining, 999)
 * ```
 */
export class Limiter {
  readonly #store: Store
  readonly #listeners: Listeners

  /**
   * A limiter over the memory of this process, or of this worker thread; or, with the URL of a Redis or Valkey, over a
   * store that others share:
   *
   * - `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS
   * - `unix:///path/to/socket[?db=1]`
   * - `redis+sentinel://[user:password@]sentinel[:port],…/service[/database]`
   * - `redis+cluster://[user:password@]node[:port],…`
   *
   * What is special in a user's name or a password has to be percent-encoded. The URL may also be one of the options.
   * It begins to connect, without anybody waiting for it; a store that cannot be reached is no error here.
   *
   * @throws {@link LimitError} for a URL that makes no sense, an option that does not exist, or one out of bounds.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * assert.equal(new Limiter({ maxEntries: 10_000 }).entries, 0)
   * assert.throws(() => new Limiter({ maxEntries: 0 }), RangeError)
   * assert.throws(() => new Limiter(process.env.NOT_SET), TypeError) // an URL that is missing is not memory
   *
   * const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError: 'local' })
   * const info = await limiter.limit(bucket({ key: 'login', size: 10 }), 'ada')
   * assert.deepEqual([info.remaining, info.degraded], [9, true]) // nobody is there, so this process decides
   * ```
   */
  constructor()
  constructor(options: LimiterOptions & ClockOption & { readonly url?: string | URL })
  constructor(url: string | URL, options?: (LimiterOptions & ClockOption) | null)
  constructor(...given: readonly unknown[]) {
    const { store, listeners } = storeOf(given)
    this.#store = store
    this.#listeners = listeners
    collected.register(this, store.handle, this)
  }

  /** Charges `cost` if it fits. */
  limit<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    // Not an `async` function, which would take three more turns to pass on the promise of a store that others share.
    try {
      const store = this.#store
      const plain = options === undefined && store.plain ? checked(limit) : undefined
      const answer =
        plain !== undefined ? limitOne(store, plain, actor) : decided(this.#store, Call.Limit, limit, actor, options)
      return Promise.resolve(yielding(answer))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** {@link limit}, answered at once. */
  limitSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): LimitInfo {
    // Nearly every call, written so that the compiler puts all of it where it is called.
    const store = this.#store
    const plain = options === undefined && store.plain ? checked(limit) : undefined
    if (plain !== undefined) return limitOne(store, plain, actor)
    return decided(this.#store, Call.Limit, limit, actor, options, true) as LimitInfo
  }

  /** Charges nothing, and says what {@link limit} would have said. */
  async peek<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return yielding(decided(this.#store, Call.Peek, limit, actor, options))
  }

  /** {@link peek}, answered at once. */
  peekSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): LimitInfo {
    return decided(this.#store, Call.Peek, limit, actor, options, true) as LimitInfo
  }

  /**
   * Charges `cost` even where it does not fit, for use that is paid afterwards; the overfill drains like any other.
   *
   * Nothing is charged, and the call is an error, where that would take the level above 2^52 units, or above what drains
   * in 2^53 microseconds (285 years).
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
    return yielding(decided(this.#store, Call.Charge, limit, actor, options))
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
   * Gives `cost` back, never below empty; `blocked` says whether a call of cost 1 would be denied now.
   *
   * With the answer to a call in place of a limit and an actor, it gives back what that very call charged: at most
   * what has not drained since, and once; a second time changes nothing.
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
    return yielding(refunded(this.#store, limit, actor, options, false))
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
   * Makes of the cost that a call was charged the one that was used: gives back what was too much, charges what was
   * too little, once. Where the checks of the call cost differently, it takes a list of one cost for each.
   *
   * A call that charged nothing has nothing to settle.
   *
   * @throws {@link LimitError} for an answer of another limiter, one part of an answer, or a cost that cannot be.
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
    return settled(this.#store, info, actualCost, options)
  }

  /** {@link settle}, answered at once. */
  settleSync(info: LimitInfo, actualCost: number | readonly number[], options?: TimeOptions): LimitInfo {
    neverWaits(this.#store)
    return settled(this.#store, info, actualCost, options) as LimitInfo
  }

  /**
   * Says what a call would be answered and why, in words; charges nothing.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 10 })
   * const limiter = new Limiter()
   * limiter.limitSync(login, 'ada', { cost: 3, now: 0 })
   * const standing = limiter.explainSync(login, 'ada', { now: 0 })
   * assert.equal(standing.info.remaining, 7)
   * assert.match(String(standing), /^"login" would admit this call: 7 of 10 units are free/)
   * ```
   */
  async explain<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Promise<Standing> {
    return explained(this.#store, limit, actor, options, false)
  }

  /** {@link explain}, answered at once. */
  explainSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: CallOptions<NoInfer<C>>,
  ): Standing {
    return explained(this.#store, limit, actor, options, true) as Standing
  }

  /** Removes what was charged to this actor; of several limits all at once. */
  async reset<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: ContextOptions<NoInfer<C>>,
  ): Promise<void> {
    return reset(this.#store, limit, actor, options, false)
  }

  /** {@link reset}, done at once. */
  resetSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: ContextOptions<NoInfer<C>>,
  ): void {
    reset(this.#store, limit, actor, options, true)
  }

  /**
   * Waits for its turn, at most `maxWaitMs`: a call that does not fit yet reserves its place and is charged at once.
   * Where the wait would be longer, the answer is `blocked` at once and nothing is charged. With `now` given it
   * answers at once, and `waitMs` says how long to wait.
   *
   * @throws the signal's reason, once the charge has been refunded.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const mail = bucket({ key: 'mail', size: 1, dripRate: 20 })
   * const limiter = new Limiter()
   * await limiter.acquire(mail, 'ada')
   * const info = await limiter.acquire(mail, 'ada', { maxWaitMs: 1000 })
   * assert(!info.blocked && info.waitMs > 0 && info.waitMs <= 20)
   * ```
   */
  async acquire<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: AcquireOptions<NoInfer<C>>,
  ): Promise<LimitInfo> {
    return acquiredLater(this.#store, limit, actor, options)
  }

  /** {@link acquire} at an instant of the caller's choosing, who does the waiting. */
  acquireSync<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: AcquireSyncOptions<NoInfer<C>>,
  ): LimitInfo {
    return acquiredAtOnce(this.#store, limit, actor, options)
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

  /** Charges nothing, and says what {@link limitAll} would have said. */
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

  /**
   * What this limiter has done with a store that others share, in this process; in memory nothing is counted.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const limiter = new Limiter('redis://127.0.0.1:1')
   * await limiter.limit(bucket({ key: 'login', size: 10 }), 'ada')
   * const { admitted, degraded } = limiter.stats()
   * assert.deepEqual([admitted, degraded], [1, 1])
   * ```
   */
  stats(): LimiterStats {
    return statsOf(this.#store)
  }

  /**
   * Calls this listener whenever such a thing happens to the store that others share; see {@link StoreEventName}.
   * Listening does not keep the process alive. Where nobody listens, what is worth a warning is one of the process.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const limiter = new Limiter('redis://127.0.0.1:1')
   * limiter.once('degraded', ({ server, message }) => {
   *   assert.equal(server, '127.0.0.1:1')
   *   assert.match(message, /the policy is local/)
   * })
   * await limiter.limit(bucket({ key: 'login', size: 10 }), 'ada')
   * ```
   */
  on<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this {
    return this.#listen('on', name, listener)
  }

  /** {@link on}, for the first time alone. */
  once<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this {
    return this.#listen('once', name, listener)
  }

  /** Does not call this listener any more. */
  off<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this {
    return this.#listen('off', name, listener)
  }

  /**
   * Has the store decide once and says how fit it is, for the start of a program and for health checks.
   *
   * It tries what a bucket needs: the connection, the user's rights, scripts, replicas where some are waited for; of a
   * cluster every primary is asked. In memory there is nothing that could be wrong.
   *
   * @throws {@link StoreError} where calls would not be decided, whatever `onError` says; it says what is wrong.
   *
   * @example
   * ```js
   * import { Limiter } from 'tidegate'
   *
   * assert.deepEqual((await new Limiter().ping()).warnings, [])
   * await assert.rejects(new Limiter('redis://127.0.0.1:1').ping(), /no connection, redis at 127\.0\.0\.1:1/)
   * ```
   */
  async ping(): Promise<Health> {
    return ping(this.#store)
  }

  /**
   * Removes every entry of this limiter's namespace, whoever made it, and says how many keys there were: for tests and
   * operators. In memory it removes every entry of the store.
   *
   * A server is asked in steps, with `SCAN` and `UNLINK`, which its user must be allowed; so it takes longer the more
   * keys there are, of others too. In the `sharkey` layout it takes the entries of Sharkey's own nodes along.
   *
   * @throws {@link StoreError} where the store cannot be reached or does not allow it; some entries may be gone then.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const limiter = new Limiter()
   * limiter.limitSync(bucket({ key: 'door', size: 1 }), 'ada')
   * assert.equal(await limiter.clear(), 1)
   * ```
   */
  async clear(): Promise<number> {
    return clear(this.#store)
  }

  /**
   * How many entries actors have of their own now, drained ones that have not been dropped yet included; of a store
   * that others share, those that this process keeps because the store could not decide.
   */
  get entries(): number {
    return answered(native.entries(this.#store.handle))
  }

  /** How many of these {@link entries} had drained and were dropped at once because there were too many. */
  get evictions(): number {
    return answered(native.evictions(this.#store.handle))
  }

  /**
   * How many calls were decided by an entry that is shared with others, because the store was full. Where this grows,
   * clients are denied early: `maxEntries` is too small for the traffic, or somebody makes names up.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const limiter = new Limiter({ maxEntries: 10 })
   * limiter.once('overflow', ({ message }) => assert.match(message, /^the memory store is full/))
   * const login = bucket({ key: 'login', size: 3 })
   * for (let name = 0; name < 100; name++) limiter.limitSync(login, `newcomer ${name}`)
   * assert.deepEqual([limiter.entries, limiter.overflowed], [9, 91])
   * ```
   */
  get overflowed(): number {
    return answered(native.overflowed(this.#store.handle))
  }

  /**
   * Gives the store up, and its connections once the calls under way are answered; never needed for the process to
   * exit. Calls after it fail with a {@link StoreError}.
   */
  async close(): Promise<void> {
    this.#close()
  }

  /** {@link close}, at the end of an `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
  }

  /** {@link close}, at the end of a `using`. */
  [Symbol.dispose](): void {
    this.#close()
  }

  #close(): void {
    // The number stands for nothing any more, so it must not be given up again when this object is collected.
    collected.unregister(this)
    native.freeLimiter(this.#store.handle)
    this.#store.handle = CLOSED
  }

  #listen(how: 'on' | 'once' | 'off', name: unknown, listener: unknown): this {
    const [known, callable] = [eventName(name), listenerFrom(listener)]
    this.#listeners[how](known, callable)
    return this
  }
}
