import { acquired } from './acquire.js'
import { type Check, decideOne, decideSeveral, partsFrom, resetSeveral } from './checks.js'
import { chosen, compiled } from './compiled.js'
import type { AnyLimit } from './definitions.js'
import { answered, outOfRange, ownKeys, read, wrongType } from './errors.js'
import { type Standing, standing } from './explain.js'
import { Call } from './frame.js'
import { LimitInfo, type Part, type Store } from './info.js'
import { native } from './native.js'
import {
  type AcquireOptions,
  type AcquireSyncOptions,
  type CallOptions,
  type ContextOptions,
  DEFAULTS,
  type DecisionOptions,
  ON_ACQUIRE,
  ON_CALL,
  ON_DECISION,
  ON_RESET,
  optionsFrom,
  type Read,
  type TimeOptions,
} from './options.js'
import { settled } from './settle.js'

/** How a limiter keeps its entries. */
export interface LimiterOptions {
  /** How many entries are kept at most; at least 1. @defaultValue 1_000_000 */
  readonly maxEntries?: number | undefined
  /** Keeps this limiter's entries apart from all others in the same store. @defaultValue 'tidegate' */
  readonly namespace?: string | undefined
}

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
    this.#store = { handle: answered(native.makeLimiter(maxEntries, namespace)) }
    collected.register(this, this.#store.handle)
  }

  /** Charges `cost` if it fits. */
  async limit<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Promise<LimitInfo> {
    return this.#decide(Call.Limit, limit, actor, options)
  }

  /** {@link limit}, answered at once. */
  limitSync<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): LimitInfo {
    return this.#decide(Call.Limit, limit, actor, options)
  }

  /** Charges nothing, and says what {@link limit} would have said. */
  async peek<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Promise<LimitInfo> {
    return this.#decide(Call.Peek, limit, actor, options)
  }

  /** {@link peek}, answered at once. */
  peekSync<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): LimitInfo {
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
  async charge<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Promise<LimitInfo> {
    return this.#decide(Call.Charge, limit, actor, options)
  }

  /** {@link charge}, answered at once. */
  chargeSync<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): LimitInfo {
    return this.#decide(Call.Charge, limit, actor, options)
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
  async refund<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Promise<LimitInfo>
  async refund(limit: unknown, actor: unknown, options?: unknown): Promise<LimitInfo> {
    return this.#refund(limit, actor, options)
  }

  /** {@link refund}, answered at once. */
  refundSync(info: LimitInfo, options?: TimeOptions): LimitInfo
  refundSync<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): LimitInfo
  refundSync(limit: unknown, actor: unknown, options?: unknown): LimitInfo {
    return this.#refund(limit, actor, options)
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
    return settled(this.#store, info, actualCost, options)
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
  async explain<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Promise<Standing> {
    return this.#explain(limit, actor, options)
  }

  /** {@link explain}, answered at once. */
  explainSync<C>(limit: AnyLimit<C>, actor: string, options?: CallOptions<NoInfer<C>>): Standing {
    return this.#explain(limit, actor, options)
  }

  /** Forgets what was charged to this actor. */
  async reset<C>(limit: AnyLimit<C>, actor: string, options?: ContextOptions<NoInfer<C>>): Promise<void> {
    this.#reset(limit, actor, options)
  }

  /** {@link reset}, done at once. */
  resetSync<C>(limit: AnyLimit<C>, actor: string, options?: ContextOptions<NoInfer<C>>): void {
    this.#reset(limit, actor, options)
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
  async acquire<C>(limit: AnyLimit<C>, actor: string, options?: AcquireOptions<NoInfer<C>>): Promise<LimitInfo> {
    const { parts, asked } = this.#parts(limit, actor, options, ON_ACQUIRE)
    return acquired(this.#store, parts, asked)
  }

  /** {@link acquire} at an instant of the caller's choosing, who does the waiting. */
  acquireSync<C>(limit: AnyLimit<C>, actor: string, options: AcquireSyncOptions<NoInfer<C>>): LimitInfo {
    const { parts, asked } = this.#parts(limit, actor, options, ON_ACQUIRE)
    if (asked.now === undefined) {
      throw wrongType(parts[0]?.limit.key ?? '', 'now', 'must be given, for nothing can be waited for here', undefined)
    }
    return decideSeveral(this.#store, Call.Acquire, parts, asked)
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
  async limitAll<C>(checks: readonly Check<C>[], options?: DecisionOptions<NoInfer<C>>): Promise<LimitInfo> {
    return this.#decideAll(Call.Limit, checks, options)
  }

  /** {@link limitAll}, answered at once. */
  limitAllSync<C>(checks: readonly Check<C>[], options?: DecisionOptions<NoInfer<C>>): LimitInfo {
    return this.#decideAll(Call.Limit, checks, options)
  }

  /** Charges nothing, and says what {@link limitAll} would have said. */
  async peekAll<C>(checks: readonly Check<C>[], options?: DecisionOptions<NoInfer<C>>): Promise<LimitInfo> {
    return this.#decideAll(Call.Peek, checks, options)
  }

  /** {@link peekAll}, answered at once. */
  peekAllSync<C>(checks: readonly Check<C>[], options?: DecisionOptions<NoInfer<C>>): LimitInfo {
    return this.#decideAll(Call.Peek, checks, options)
  }

  /** How many entries are kept now, drained ones that have not been dropped yet included. */
  get entries(): number {
    return answered(native.entries(this.#store.handle))
  }

  /** How many entries were given up because the store was full. */
  get evictions(): number {
    return answered(native.evictions(this.#store.handle))
  }

  /** Gives the store up; never needed for the process to exit. Calls after it fail with a {@link StoreError}. */
  async close(): Promise<void> {
    native.freeLimiter(this.#store.handle)
    this.#store.handle = CLOSED
  }

  #decide(call: number, limit: unknown, actor: unknown, given: unknown): LimitInfo {
    if (Array.isArray(limit) || typeof limit === 'function') {
      const { parts, asked } = this.#parts(limit, actor, given, ON_CALL)
      return decideSeveral(this.#store, call, parts, asked)
    }
    const known = compiled(limit)
    // Asked here, because nearly every call gives none and the reader of options is too large to be inlined.
    const asked = given === undefined ? DEFAULTS : optionsFrom(given, ON_CALL, known.key)
    return decideOne(this.#store, call, known, actor, asked)
  }

  #decideAll(call: number, checks: unknown, given: unknown): LimitInfo {
    let asked: Read | undefined
    const parts = partsFrom(checks, () => {
      asked ??= optionsFrom(given, ON_DECISION, '')
      return asked.context
    })
    asked ??= optionsFrom(given, ON_DECISION, parts[0]?.limit.key ?? '')
    return decideSeveral(this.#store, call, parts, asked)
  }

  #refund(limit: unknown, actor: unknown, given: unknown): LimitInfo {
    if (limit instanceof LimitInfo) return settled(this.#store, limit, 0, actor)
    return this.#decide(Call.Refund, limit, actor, given)
  }

  #explain(limit: unknown, actor: unknown, given: unknown): Standing {
    const { parts, asked } = this.#parts(limit, actor, given, ON_CALL)
    return standing(this.#store, parts, asked)
  }

  #reset(limit: unknown, actor: unknown, given: unknown): void {
    resetSeveral(this.#store, this.#parts(limit, actor, given, ON_RESET).parts)
  }

  /** One limit or several, all for the same actor and with the same options. */
  #parts(limit: unknown, actor: unknown, given: unknown, takes: readonly (keyof Read)[]) {
    let asked: Read | undefined
    const context = (): unknown => {
      asked ??= optionsFrom(given, takes, '')
      return asked.context
    }
    const limits = Array.from(Array.isArray(limit) ? limit : [limit]).flatMap((one) => chosen(one, context))
    asked ??= optionsFrom(given, takes, limits[0]?.key ?? '')
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
