import { answered } from '../errors.js'
import type { AnyLimit } from '../limits/choice.js'
import type { StoreEventName } from '../native/names.js'
import { native } from '../native/native.js'
import type { Store } from '../results/info.js'
import { type Metric, metricsOf } from '../results/metrics.js'
import { type LimiterStats, statsOf } from '../results/stats.js'
import { type Top, topOf } from '../results/top.js'
import { type ClockOption, clocks } from '../time/clock.js'
import type { HoldOptions } from './call-options.js'
import { type DeniedEvent, eventName, type Listeners, listenerFrom, listenTo, type StoreEvent } from './events.js'
import { type Hold, holdDuring, holdOf } from './hold.js'
import { storeOf } from './store.js'
import type { LimiterOptions } from './store-options.js'
import { clear, type Health, ping } from './upkeep.js'
import { Verbs } from './verbs.js'

/** Frees the engine's limiter when its object has been collected. */
const collected = new FinalizationRegistry<number>((handle) => native.freeLimiter(handle))

const CLOSED = 0

/**
 * Decides calls against limits, and keeps their entries in its store.
 *
 * Every call has a method that returns a promise, and one whose name ends in `Sync`. In memory only `acquire` waits, so
 * both do the same. Over a shared store a call takes at most one round trip, and the `Sync` methods throw a
 * {@link StoreError}, because they cannot wait.
 *
 * Every call throws, or rejects with, a {@link LimitError} for a definition, an actor, a cost, a factor or a time that
 * is out of bounds, and a {@link StoreError} once the limiter is closed.
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
 * A limit may also be a function of the caller's own context that returns one limit, or several:
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
export class Limiter extends Verbs {
  readonly #store: Store
  readonly #listeners: Listeners

  /**
   * A limiter over the memory of this process, or of this worker thread; or, with the URL of a Redis or Valkey, over a
   * shared store:
   *
   * - `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS
   * - `unix:///path/to/socket[?db=1]`
   * - `redis+sentinel://[user:password@]sentinel[:port],…/service[/database]`
   * - `redis+cluster://[user:password@]node[:port],…`
   *
   * Percent-encode special characters in a user's name or a password. The URL may also be one of the options. The
   * limiter begins to connect in the background; a store that cannot be reached is no error here.
   *
   * @throws {@link LimitError} for an invalid URL, an option that does not exist, or one out of bounds.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * assert.equal(new Limiter({ maxEntries: 10_000 }).entries, 0)
   * assert.throws(() => new Limiter({ maxEntries: 0 }), RangeError)
   * assert.throws(() => new Limiter(process.env.NOT_SET), TypeError) // a missing URL does not mean memory
   *
   * const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError: 'local' })
   * const info = await limiter.limit(bucket({ key: 'login', size: 10 }), 'ada')
   * assert.deepEqual([info.remaining, info.degraded], [9, true]) // no server there, so this process decides
   * ```
   */
  constructor()
  constructor(options: LimiterOptions & ClockOption & { readonly url?: string | URL })
  constructor(url: string | URL, options?: (LimiterOptions & ClockOption) | null)
  constructor(...given: readonly unknown[]) {
    const { store, listeners } = storeOf(given)
    super(store)
    this.#store = store
    this.#listeners = listeners
    listenTo(this, listeners)
    if (store.clock !== undefined) clocks.set(this, store.clock)
    collected.register(this, store.handle, this)
  }

  /**
   * Holds units for as long as something lasts: takes them, renews them every third of the shortest lease, and releases
   * them at its end, which is that of an `await using`, of the work that is given, or a {@link Hold.release}.
   *
   * At least one limit is of type concurrency. Others beside it are charged, and keep their charge. A hold says when it
   * was {@link Hold.lost | lost}.
   *
   * @throws {@link BlockedError} where there is no room within `maxWaitMs`; the signal's reason where that aborts the wait.
   *
   * @example
   * ```js
   * import { concurrency, Limiter } from 'tidegate'
   *
   * const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
   * const limiter = new Limiter()
   * const rows = await limiter.hold(exports, 'ada', { maxWaitMs: 5000 }, async (held) => {
   *   assert.equal(held.signal.aborted, false) // pass it to what does the work
   *   return limiter.peekSync(exports, 'ada').remaining
   * })
   * assert.equal(rows, 2)
   * assert.equal(limiter.peekSync(exports, 'ada').remaining, 3)
   * ```
   */
  hold<C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options?: HoldOptions<NoInfer<C>> | null,
  ): Promise<Hold>
  hold<R, C, T extends string = never>(
    limit: AnyLimit<C, T>,
    actor: string,
    options: HoldOptions<NoInfer<C>> | null | undefined,
    work: (held: Hold) => R | PromiseLike<R>,
  ): Promise<R>
  hold(limit: unknown, actor: unknown, options?: unknown, work?: (held: Hold) => unknown): Promise<unknown> {
    const given = options ?? undefined
    if (work === undefined) return holdOf(this.#store, limit, actor, given)
    return holdDuring(this.#store, limit, actor, given, work)
  }

  /**
   * The statistics of this limiter, in this process or worker thread.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 2 })
   * const local = new Limiter()
   * for (let call = 0; call < 3; call++) local.limitSync(login, 'ada')
   * assert.deepEqual([local.stats().admitted, local.stats().blocked], [2, 1])
   *
   * const shared = new Limiter('redis://127.0.0.1:1')
   * await shared.limit(login, 'ada')
   * const { admitted, degraded } = shared.stats()
   * assert.deepEqual([admitted, degraded], [1, 1])
   * ```
   */
  stats(): LimiterStats {
    return statsOf(this.#store)
  }

  /**
   * Every metric of this limiter in this process, with the numbers that it has now, for programs that export them.
   *
   * The first call turns the counts by limit on. Before, nothing is counted by limit, and nothing is spent on it. A call
   * of several limits counts for each of them, as denied for those that denied it. The first 256 keys are counted apart,
   * all others as the limit `other`. No label names an actor. `tidegate/prometheus` and `tidegate/opentelemetry` export
   * them.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 2 })
   * const limiter = new Limiter()
   * limiter.metrics()
   * for (let call = 0; call < 3; call++) limiter.limitSync(login, 'ada')
   * const { samples } = limiter.metrics().find(({ name }) => name === 'tidegate_decisions_total')
   * assert.deepEqual(samples[1], { labels: { limit: 'login', outcome: 'denied' }, value: 1 })
   * ```
   */
  metrics(): Metric[] {
    return metricsOf(this.#store)
  }

  /**
   * The actors that this limiter denied and charged most in this process, at most `count` of each, which is 10 by
   * default.
   *
   * They cover the last five minutes and the one under way. The first call turns the counts by actor on. Before, nothing
   * is counted, and nothing is spent on it. `limit`, `acquire` and `hold` count, and `charge` as charged. Limits in shadow
   * mode never count.
   *
   * At most 256 actors are counted apart in each minute. Up to there all counts are exact. Beyond, the true count is at
   * most `count` and at least `count - error`; the error is at most 1/256 of what all actors have together, and no actor
   * with more than that is missed. Actors may be personal data: do not make metrics of them.
   *
   * @throws {@link LimitError} for a `count` that is not a whole number from 0 on.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const login = bucket({ key: 'login', size: 2 })
   * const limiter = new Limiter()
   * limiter.top()
   * for (let call = 0; call < 3; call++) limiter.limitSync(login, 'ada')
   * assert.deepEqual(limiter.top().denied, [{ actor: 'ada', count: 1, error: 0 }])
   * ```
   */
  top(count?: number): Top {
    return topOf(this.#store, count)
  }

  /**
   * Calls this listener at each event of this name; see {@link StoreEventName}, and {@link DeniedEvent} for requests that
   * the modules for web frameworks deny. Listening does not keep the process
   * alive.
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
  on<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this
  on(name: 'denied', listener: (event: DeniedEvent) => void): this
  on(name: string, listener: (event: never) => void): this {
    return this.#listen('on', name, listener)
  }

  /** {@link on}, for the first event alone. */
  once<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this
  once(name: 'denied', listener: (event: DeniedEvent) => void): this
  once(name: string, listener: (event: never) => void): this {
    return this.#listen('once', name, listener)
  }

  /** Removes this listener. */
  off<Name extends StoreEventName>(name: Name, listener: (event: StoreEvent<Name>) => void): this
  off(name: 'denied', listener: (event: DeniedEvent) => void): this
  off(name: string, listener: (event: never) => void): this {
    return this.#listen('off', name, listener)
  }

  /**
   * Checks the health of the store with one decision, for the start of a program and for health checks.
   *
   * It tests what a bucket needs: the connection, the user's rights, scripts, and replicas if charges wait for them. In a
   * cluster it tests every primary. In memory it always succeeds.
   *
   * @throws {@link StoreError} with the reason where the store would not decide calls, for every `onError`.
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
   * Removes every entry of this limiter's namespace, of all processes, and returns the number of keys: for tests and
   * operators. In memory it removes every entry of the store.
   *
   * On a server it uses `SCAN` and `UNLINK`, which its user must be allowed. The more keys there are, of other programs
   * too, the longer it takes. In the `sharkey` layout it also removes the entries of Sharkey's own nodes.
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
   * The number of entries of single actors in memory now, including drained ones that have not been removed yet. Over a
   * shared store these are the entries of the fallback `local`.
   */
  get entries(): number {
    return answered(native.entries(this.#store.handle))
  }

  /** The number of drained {@link entries} that were removed early because there were too many. */
  get evictions(): number {
    return answered(native.evictions(this.#store.handle))
  }

  /**
   * The number of calls that were decided by an entry shared between actors, because the store was full. While this
   * grows, clients are denied early: `maxEntries` is too small for the traffic, or a client invents names.
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
   * Closes the limiter, and its connections when the calls under way are answered. A process can exit without it.
   * Calls after it fail with a {@link StoreError}.
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
    // Freed here, so not again when this object is collected.
    collected.unregister(this)
    native.freeLimiter(this.#store.handle)
    this.#store.handle = CLOSED
    this.#listeners.isClosed = true
  }

  #listen(how: 'on' | 'once' | 'off', name: unknown, listener: unknown): this {
    const [known, callable] = [eventName(name), listenerFrom(listener)]
    this.#listeners[how](known, callable)
    return this
  }
}
