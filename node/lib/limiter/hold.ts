import { answered, outOfRange, ownKeys, read, StoreError, wrongType } from '../errors.js'
import { Call } from '../native/buffer.js'
import { native, type Spent } from '../native/native.js'
import { LimitInfo, type Part, type Store } from '../results/info.js'
import { after } from '../time/later.js'
import { elapsed } from '../time/timers.js'
import { acquiredLater, limitedLater } from './acquire.js'
import { BlockedError } from './blocked-error.js'
import { ON_HOLD, type Read } from './call-options.js'
import { type Answer, decideOne } from './checks.js'
import { heldOf } from './held.js'
import { partsOf } from './parts.js'
import { renewAfter } from './renewals.js'
import { releasedInfo, renewedInfo, settledInfo } from './settle.js'

/** A renewal that failed is tried again after this part of the lease. */
const RETRY = 10

/** The actual costs at the end of a hold. */
export type HoldCosts = number | readonly number[] | { readonly [keyOrIndex: string]: number }

/**
 * Units that are held: renewed every third of the shortest lease, until they are released.
 *
 * @example
 * ```js
 * import { concurrency, Limiter } from 'tidegate'
 *
 * const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
 * const limiter = new Limiter()
 * const held = await limiter.hold(exports, 'ada')
 * try {
 *   assert.equal(held.lost, false) // the work goes here; it stops when held.signal aborts
 * } finally {
 *   await held.release()
 * }
 * assert.equal(limiter.peekSync(exports, 'ada').remaining, 3)
 * ```
 */
export class Hold {
  /** The answer of the call that took the units. */
  readonly info: LimitInfo
  readonly #store: Store
  readonly #leaseMs: number
  /** The answer that has the receipt now. */
  #receipt: LimitInfo
  /** The time at which the lease is over. */
  #until: number
  #spent: Spent | undefined
  #stop: (() => void) | undefined
  #renewing: Promise<void> | undefined
  #released: Promise<LimitInfo> | undefined
  #lost: BlockedError | Error | undefined
  #controller: AbortController | undefined

  /** @internal Holds what the call of this answer took at this time. */
  constructor(store: Store, info: LimitInfo, began: number) {
    const [leaseMs = 0] = heldOf(partsOfAnswer(info))
    this.info = info
    this.#store = store
    this.#leaseMs = leaseMs
    this.#receipt = info
    this.#until = began + leaseMs
    this.#renewAfter(leaseMs / 3)
  }

  /** True when the units could not be renewed in time: stop the work, others may have them. */
  get lost(): boolean {
    return this.#lost !== undefined
  }

  /** Aborts when the units are {@link lost}. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#lost !== undefined) this.#controller.abort(this.#lost)
    }
    return this.#controller.signal
  }

  /**
   * Notes the actual costs of what is charged beside the units, for the end of the hold, once: the cost of the only limit
   * that holds no units, a list of one cost for each check, or costs by the keys of limits or the positions of checks. The
   * others stay as they were charged.
   *
   * @example
   * ```js
   * import { concurrency, Limiter, tokenBucket } from 'tidegate'
   *
   * const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
   * const rows = tokenBucket({ key: 'rows', count: 100, period: 60_000 })
   * const limiter = new Limiter()
   * await limiter.hold([exports, rows], 'ada', { costs: [1, 50] }, (held) => held.settle({ rows: 20 }))
   * assert.equal(limiter.peekSync(rows, 'ada').remaining, 80)
   * ```
   */
  settle(costs: HoldCosts): void {
    const parts = partsOfAnswer(this.info)
    const key = parts[0]?.limit.key ?? ''
    const { taken, names } = costsFrom(costs, key)
    const charged = parts.map(({ cost }) => cost)
    const handles = parts.map(({ limit }) => limit.handle)
    this.#spent = answered(native.spentOfHold(handles, charged, taken, names))
  }

  /** Releases the units now, once; a second call resolves with the same answer. */
  release(): Promise<LimitInfo> {
    this.#stop?.()
    this.#released ??= this.#end()
    return this.#released
  }

  /** {@link release}, at the end of an `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  async #end(): Promise<LimitInfo> {
    // Not while they are renewed: the units would be others by then.
    if (this.#renewing !== undefined) await this.#renewing
    if (this.#spent !== undefined) return settledInfo(this.#store, this.#receipt, this.#spent, undefined)
    return releasedInfo(this.#store, this.#receipt, undefined)
  }

  #renewAfter(ms: number): void {
    if (this.#released === undefined) this.#stop = renewAfter(ms, () => this.#renew())
  }

  #renew(): void {
    const began = elapsed()
    const failed = (): void => this.#renewed(undefined, began)
    try {
      const answer = renewedInfo(this.#store, this.#receipt, undefined)
      if (answer instanceof LimitInfo) {
        this.#renewed(answer, began)
        return
      }
      const over = answer.then((info) => this.#renewed(info, began), failed)
      this.#renewing = over.finally(() => {
        this.#renewing = undefined
      })
    } catch {
      failed()
    }
  }

  #renewed(info: LimitInfo | undefined, began: number): void {
    // Where the store and this process decide in turns, the one that has the units was not asked.
    if (info !== undefined && info.degraded === this.#receipt.degraded) {
      if (info.blocked) {
        this.#lose('its units are gone')
        return
      }
      this.#receipt = info
      this.#until = began + this.#leaseMs
      this.#renewAfter(this.#leaseMs / 3)
      return
    }
    const left = this.#until - elapsed()
    if (left > 0) this.#renewAfter(Math.min(left, this.#leaseMs / RETRY))
    else this.#lose('its lease is over, and the store could not be asked')
  }

  #lose(reason: string): void {
    if (this.#released !== undefined) return
    this.#lost = new Error(`this hold of ${JSON.stringify(this.info.key)} is lost: ${reason}`)
    this.#controller?.abort(this.#lost)
  }
}

const partsOfAnswer = (info: LimitInfo): readonly Part[] => LimitInfo.receipt(info)?.parts ?? []

function costsFrom(costs: unknown, key: string): { taken: Spent; names: readonly string[] | undefined } {
  const problem = 'must be a number, an array of numbers, or numbers by the keys of limits'
  const number = (cost: unknown): number => {
    if (typeof cost === 'number') return cost
    throw wrongType(key, 'costs', problem, cost)
  }
  if (Array.isArray(costs)) return { taken: Array.from(costs, number), names: undefined }
  if (typeof costs !== 'object' || costs === null) return { taken: number(costs), names: undefined }
  const names = ownKeys(costs, 'costs', key)
  return { taken: names.map((name) => number(read(costs, name, key))), names }
}

/** Takes the units, at once or within `maxWaitMs`, and holds them; for one limit or several of one actor. */
export async function holdOf(store: Store, limit: unknown, actor: unknown, given: unknown): Promise<Hold> {
  const read = after(partsOf(limit, actor, given, { takes: ON_HOLD, atOnce: false }), withCosts)
  const { parts, options } = read instanceof Promise ? await read : read
  heldOf(parts, false)
  const began = elapsed()
  const answer = taken(store, parts, options)
  const info = answer instanceof Promise ? await answer : answer
  if (info.blocked) throw new BlockedError(info)
  return new Hold(store, info, info.waitMs > 0 ? elapsed() : began)
}

function taken(store: Store, parts: readonly Part[], options: Read): Answer {
  // NaN is refused there.
  if ((options.maxWaitMs ?? 0) !== 0) return acquiredLater(store, parts, options)
  options.signal?.throwIfAborted()
  const atOnce = options.maxWaitMs === undefined ? options : { ...options, maxWaitMs: undefined }
  const [only] = parts
  if (only === undefined || parts.length > 1 || store.shared) return limitedLater(store, parts, atOnce)
  const { limit, actor, cost } = only
  return decideOne(store, Call.Limit, limit, actor, cost === atOnce.cost ? atOnce : { ...atOnce, cost })
}

function withCosts({ parts, options }: { parts: readonly Part[]; options: Read }): {
  parts: readonly Part[]
  options: Read
} {
  const { costs } = options
  if (costs === undefined) return { parts, options }
  if (costs.length !== parts.length) {
    const given = `${costs.length} costs for ${parts.length} limits`
    throw outOfRange(parts[0]?.limit.key ?? '', 'costs', 'must be a list of one cost for each limit', given)
  }
  return { parts: parts.map((part, index): Part => ({ ...part, cost: costs[index] as number })), options }
}

/** {@link holdOf}, while this work goes on. */
export async function holdDuring(
  store: Store,
  limit: unknown,
  actor: unknown,
  given: unknown,
  work: (held: Hold) => unknown,
): Promise<unknown> {
  if (typeof work !== 'function') throw wrongType('', 'work', 'must be a function', work)
  return during(await holdOf(store, limit, actor, given), work)
}

/** Holds while this work goes on. */
export async function during<T>(held: Hold, work: (held: Hold) => T | PromiseLike<T>): Promise<T> {
  let result: T
  try {
    result = await work(held)
  } catch (error) {
    await held.release().catch((failure: unknown) => {
      // The lease gives them back. The error of the work matters more.
      if (!(failure instanceof StoreError)) throw failure
    })
    throw error
  }
  await held.release()
  return result
}
