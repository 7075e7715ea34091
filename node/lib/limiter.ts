import { acquired } from './acquire.js'
import { type Check, decideOne, decideSeveral, type Part, partsFrom, resetSeveral } from './checks.js'
import { compiled } from './compiled.js'
import type { Definition } from './definitions.js'
import { answered, outOfRange, ownKeys, read, wrongType } from './errors.js'
import { Call } from './frame.js'
import type { LimitInfo } from './info.js'
import { native } from './native.js'
import {
  type AcquireOptions,
  type AcquireSyncOptions,
  type CallOptions,
  DEFAULTS,
  ON_ACQUIRE,
  ON_CALL,
  ON_DECISION,
  ON_RESET,
  optionsFrom,
  type Read,
  type TimeOptions,
} from './options.js'

/** How a limiter keeps its entries. */
export interface LimiterOptions {
  /** How many entries are kept at most; at least 1. @defaultValue 1_000_000 */
  readonly maxEntries?: number | undefined
  /** Keeps this limiter's entries apart from all others in the same store. @defaultValue 'tidegate' */
  readonly namespace?: string | undefined
}

/** One limit, or several that are decided together: either every one is charged or none. */
export type Limits = Definition | readonly Definition[]

/** The engine's side of a limiter goes when nothing on this side can name it any more. */
const collected = new FinalizationRegistry<number>((handle) => native.freeLimiter(handle))

const CLOSED = 0

/**
 * Decides calls against limits, and keeps what has to be kept in its store.
 *
 * Every call comes as a promise and as a `Sync` twin. In memory nothing is ever waited for (save by `acquire`), so
 * both do the same; promises are for the sake of stores that do I/O.
 *
 * Every call throws, or rejects with, a {@link LimitError} for a definition, an actor, a cost, a factor or a time that
 * cannot be, and a {@link StoreError} once the limiter is closed.
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
 */
export class Limiter {
  #handle: number

  /**
   * A limiter over the memory of this process, or of this worker thread.
   *
   * @throws {@link LimitError} for a store or an option that does not exist, or an option out of bounds.
   *
   * @example
   * ```js
   * import { Limiter } from 'tidegate'
   *
   * assert.equal(new Limiter({ maxEntries: 10_000 }).entries, 0)
   * assert.throws(() => new Limiter({ maxEntries: 0 }), RangeError)
   * ```
   */
  constructor(options?: LimiterOptions)
  constructor(url: 'memory://', options?: LimiterOptions)
  constructor(url?: unknown, options?: unknown) {
    if (options === undefined && typeof url !== 'string') [url, options] = [undefined, url]
    if (url !== undefined && url !== 'memory://') {
      throw outOfRange('', 'url', 'must be "memory://", the only store of this version', url)
    }
    const { maxEntries, namespace } = storeOptions(options)
    this.#handle = answered(native.makeLimiter(maxEntries, namespace))
    collected.register(this, this.#handle)
  }

  /** Charges `cost` if it fits. */
  async limit(limit: Limits, actor: string, options?: CallOptions): Promise<LimitInfo> {
    return this.#decide(Call.Limit, limit, actor, options)
  }

  /** {@link limit}, answered at once. */
  limitSync(limit: Limits, actor: string, options?: CallOptions): LimitInfo {
    return this.#decide(Call.Limit, limit, actor, options)
  }

  /** Charges nothing, and says what {@link limit} would have said. */
  async peek(limit: Limits, actor: string, options?: CallOptions): Promise<LimitInfo> {
    return this.#decide(Call.Peek, limit, actor, options)
  }

  /** {@link peek}, answered at once. */
  peekSync(limit: Limits, actor: string, options?: CallOptions): LimitInfo {
    return this.#decide(Call.Peek, limit, actor, options)
  }

  /**
   * Charges `cost` even where it does not fit, for use that is paid afterwards; the overfill drains like any other.
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
  async charge(limit: Limits, actor: string, options?: CallOptions): Promise<LimitInfo> {
    return this.#decide(Call.Charge, limit, actor, options)
  }

  /** {@link charge}, answered at once. */
  chargeSync(limit: Limits, actor: string, options?: CallOptions): LimitInfo {
    return this.#decide(Call.Charge, limit, actor, options)
  }

  /** Gives `cost` back, never below empty; `blocked` says whether a call of cost 1 would be denied now. */
  async refund(limit: Limits, actor: string, options?: CallOptions): Promise<LimitInfo> {
    return this.#decide(Call.Refund, limit, actor, options)
  }

  /** {@link refund}, answered at once. */
  refundSync(limit: Limits, actor: string, options?: CallOptions): LimitInfo {
    return this.#decide(Call.Refund, limit, actor, options)
  }

  /** Forgets what was charged to this actor. */
  async reset(limit: Limits, actor: string): Promise<void> {
    this.#reset(limit, actor)
  }

  /** {@link reset}, done at once. */
  resetSync(limit: Limits, actor: string): void {
    this.#reset(limit, actor)
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
  async acquire(limit: Limits, actor: string, options?: AcquireOptions): Promise<LimitInfo> {
    const { parts, asked } = this.#parts(limit, actor, options, ON_ACQUIRE)
    return acquired(() => this.#handle, parts, asked)
  }

  /** {@link acquire} at an instant of the caller's choosing, who does the waiting. */
  acquireSync(limit: Limits, actor: string, options: AcquireSyncOptions): LimitInfo {
    const { parts, asked } = this.#parts(limit, actor, options, ON_ACQUIRE)
    if (asked.now === undefined) {
      throw wrongType(parts[0]?.limit.key ?? '', 'now', 'must be given, for nothing can be waited for here', undefined)
    }
    return decideSeveral(this.#handle, Call.Acquire, parts, asked)
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
  async limitAll(checks: readonly Check[], options?: TimeOptions): Promise<LimitInfo> {
    return this.#decideAll(Call.Limit, checks, options)
  }

  /** {@link limitAll}, answered at once. */
  limitAllSync(checks: readonly Check[], options?: TimeOptions): LimitInfo {
    return this.#decideAll(Call.Limit, checks, options)
  }

  /** Charges nothing, and says what {@link limitAll} would have said. */
  async peekAll(checks: readonly Check[], options?: TimeOptions): Promise<LimitInfo> {
    return this.#decideAll(Call.Peek, checks, options)
  }

  /** {@link peekAll}, answered at once. */
  peekAllSync(checks: readonly Check[], options?: TimeOptions): LimitInfo {
    return this.#decideAll(Call.Peek, checks, options)
  }

  /** How many entries are kept now, drained ones that have not been dropped yet included. */
  get entries(): number {
    return answered(native.entries(this.#handle))
  }

  /** How many entries were given up because the store was full. */
  get evictions(): number {
    return answered(native.evictions(this.#handle))
  }

  /** Gives the store up; never needed for the process to exit. Calls after it fail with a {@link StoreError}. */
  async close(): Promise<void> {
    native.freeLimiter(this.#handle)
    this.#handle = CLOSED
  }

  #decide(call: number, limit: unknown, actor: unknown, given: unknown): LimitInfo {
    if (Array.isArray(limit)) {
      const { parts, asked } = this.#parts(limit, actor, given, ON_CALL)
      return decideSeveral(this.#handle, call, parts, asked)
    }
    const known = compiled(limit)
    // Asked here, because nearly every call gives none and the reader of options is too large to be inlined.
    const asked = given === undefined ? DEFAULTS : optionsFrom(given, ON_CALL, known.key)
    return decideOne(this.#handle, call, known, actor, asked)
  }
  #decideAll(call: number, checks: unknown, given: unknown): LimitInfo {
    const parts = partsFrom(checks)
    return decideSeveral(this.#handle, call, parts, optionsFrom(given, ON_DECISION, parts[0]?.limit.key ?? ''))
  }

  #reset(limit: unknown, actor: unknown): void {
    resetSeveral(this.#handle, this.#parts(limit, actor, undefined, ON_RESET).parts)
  }

  /** One limit or several, all for the same actor and with the same options. */
  #parts(limit: unknown, actor: unknown, given: unknown, takes: readonly (keyof Read)[]) {
    const limits = Array.isArray(limit) ? Array.from(limit, compiled) : [compiled(limit)]
    const asked = optionsFrom(given, takes, limits[0]?.key ?? '')
    const { cost, factor } = asked
    const parts = limits.map((limit): Part => ({ limit, actor, cost, factor }))
    return { parts, asked }
  }
}

function storeOptions(given: unknown): { maxEntries: number | undefined; namespace: unknown } {
  if (given === undefined) return { maxEntries: undefined, namespace: undefined }
  if (typeof given !== 'object' || given === null) throw wrongType('', 'options', 'must be an object', given)
  for (const name of ownKeys(given, 'options', '')) {
    if (name === 'maxEntries' || name === 'namespace') continue
    throw wrongType('', name, 'is not an option of the memory store', read(given, name, ''))
  }
  const maxEntries = read(given, 'maxEntries', '')
  if (maxEntries !== undefined && typeof maxEntries !== 'number') {
    throw wrongType('', 'maxEntries', 'must be a number', maxEntries)
  }
  return { maxEntries, namespace: read(given, 'namespace', '') }
}
