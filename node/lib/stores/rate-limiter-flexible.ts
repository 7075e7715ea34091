/**
 * A limiter for the wrappers of rate-limiter-flexible 11.
 *
 * @packageDocumentation
 */

import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { knownOptions, outOfRange, wrongType } from '../errors.js'
import type { Limiter } from '../limiter.js'
import { storeOptions } from './hits.js'
import { LONGEST_MS, PointCounter, type Points } from './holds.js'

/** The options of a limiter, with the library's own names. */
export interface Options {
  /**
   * A limiter, which stays the caller's, or the URL of a store.
   * @defaultValue a limiter of its own, in the memory of this process
   */
  readonly limiter?: Limiter | string | URL | undefined
  /**
   * The name before every key. Over a shared store, limiters with the same prefix count together.
   * @defaultValue `rlflx`, with a number behind it for the second one of a limiter
   */
  readonly keyPrefix?: string | undefined
  /** The points in a duration. */
  readonly points: number
  /** Seconds; with 0 points are kept until they are deleted. */
  readonly duration: number
  /** Seconds for which a key is blocked that has used more than its points. @defaultValue 0 */
  readonly blockDuration?: number | undefined
  /** Spreads actions over the duration, by a delay of each. @defaultValue false */
  readonly execEvenly?: boolean | undefined
  /** The least delay in milliseconds. @defaultValue an even share of the duration */
  readonly execEvenlyMinDelayMs?: number | undefined
}

/** The options of a call. */
export interface CallOptions {
  /** Seconds, in place of the limiter's duration. */
  readonly customDuration?: number | undefined
}

const OWN = ['points', 'duration', 'blockDuration', 'execEvenly', 'execEvenlyMinDelayMs']
/** The longest window that there can be, 100 years. */
const FOREVER_MS = 3_155_760_000_000

/**
 * Counts in a limiter's store, wherever the library takes one of its own limiters: as an insurance, and in
 * `RLWrapperBlackAndWhite`, `RLWrapperTimeouts`, `RateLimiterUnion`, `BurstyRateLimiter` and `RateLimiterQueue`.
 *
 * A window starts at a key's first action. Points cannot go below 0.
 *
 * @throws {@link LimitError} for an option that does not exist, or a value that it does not take.
 *
 * @example
 * ```js
 * import { Store } from 'tidegate/stores/rate-limiter-flexible'
 *
 * const limiter = new Store({ points: 2, duration: 60 })
 * assert.equal((await limiter.consume('ada', 2)).remainingPoints, 0)
 * await assert.rejects(limiter.consume('ada'), (res) => res.consumedPoints === 3 && res.msBeforeNext <= 60_000)
 * ```
 */
export class Store extends RateLimiterCompatibleAbstract {
  /** The name before every key. */
  override readonly keyPrefix: string
  /** The points in a duration. */
  points: number
  /** Seconds; with 0 points are kept until they are deleted. */
  duration: number
  /** Seconds for which a key is blocked that has used more than its points. */
  override blockDuration: number
  /** Spreads actions over the duration. */
  override execEvenly: boolean
  readonly #minDelayMs: number | undefined
  readonly #counter: PointCounter

  constructor(options: Options) {
    super()
    const { limiter, keyPrefix, ...given } = objectOf(options)
    const own = knownOptions(given, OWN, 'a limiter') as Partial<Options>
    this.#counter = new PointCounter(storeOptions({ limiter, prefix: keyPrefix }), 'rlflx')
    this.keyPrefix = this.#counter.prefix
    this.points = numberOption(own, 'points')
    this.duration = numberOption(own, 'duration')
    this.blockDuration = own.blockDuration === undefined ? 0 : numberOption(own, 'blockDuration')
    this.execEvenly = own.execEvenly === true
    this.#minDelayMs = own.execEvenlyMinDelayMs
  }

  /** Uses points; rejects with a `RateLimiterRes` where there are not enough. */
  override async consume(key: string | number, points = 1, options: CallOptions = {}): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    const taken = await this.#counter.take(`${key}`, windowMs, points)
    const { used, blocked } = taken
    if (!blocked && used <= this.points) return this.#spread(this.#resOf(taken, points))
    // The one that goes over the limit blocks the key; those that come after it find the block.
    const blocks = !blocked && this.blockDuration > 0 && used - points <= this.points
    if (!blocks) throw this.#resOf(taken, points)
    const blockMs = msOf(this.blockDuration)
    await this.#counter.blockFor(`${key}`, blockMs)
    await this.#counter.hold(`${key}`, windowMs, used, blockMs)
    throw this.#resOf({ ...taken, leftMs: blockMs }, points)
  }

  /** Uses points, and never rejects for want of them. */
  override async penalty(key: string | number, points = 1, options: CallOptions = {}): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    return this.#resOf(await this.#counter.take(`${key}`, windowMs, points), points)
  }

  /** Gives points back, never below 0. */
  override async reward(key: string | number, points = 1, options: CallOptions = {}): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    await this.#counter.give(`${key}`, windowMs, points)
    return this.#resOf(await this.#counter.look(`${key}`, windowMs))
  }

  /** The points of a key; null where there are none. */
  override async get(key: string | number, options: CallOptions = {}): Promise<RateLimiterRes | null> {
    const windowMs = this.#windowMs(options)
    const points = await this.#counter.look(`${key}`, windowMs)
    return points.leftMs === 0 ? null : this.#resOf(points)
  }

  /** Sets the points that a key has used, for so many seconds. */
  override async set(key: string | number, points: number, secDuration: number): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs({})
    const holdMs = secDuration >= 0 ? msOf(secDuration) : windowMs
    if (points > this.points) {
      await this.#counter.unblock(`${key}`)
      await this.#counter.blockFor(`${key}`, Math.min(holdMs, LONGEST_MS))
      await this.#counter.hold(`${key}`, windowMs, points, holdMs)
    } else if (holdMs === windowMs) {
      await this.#counter.start(`${key}`, windowMs, points)
    } else {
      await this.#counter.unblock(`${key}`)
      await this.#counter.hold(`${key}`, windowMs, points, holdMs)
    }
    return resOf(Math.max(this.points - points, 0), holdMs, points, false)
  }

  /** Blocks a key for so many seconds; with 0 until it is deleted. */
  override async block(key: string | number, secDuration: number): Promise<RateLimiterRes> {
    return this.set(key, this.points + 1, secDuration)
  }

  /** Forgets a key, its block as well; false where there was none. */
  override async delete(key: string | number): Promise<boolean> {
    const known = await this.get(key)
    await this.#counter.forget(`${key}`, this.#windowMs({}))
    return known !== null
  }

  /** Closes the limiter, unless it was given as one. */
  async close(): Promise<void> {
    await this.#counter.close()
  }

  #windowMs({ customDuration }: CallOptions): number {
    return msOf(customDuration !== undefined && customDuration >= 0 ? customDuration : this.duration)
  }

  #resOf({ used, leftMs, blocked }: Points, points = 0): RateLimiterRes {
    const consumed = blocked ? Math.max(used, this.points + 1) : used
    return resOf(Math.max(this.points - consumed, 0), leftMs, consumed, points > 0 && consumed === points)
  }

  /** Delays an action by its share of the time that is left, where actions are spread. */
  async #spread(res: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = res
    if (!this.execEvenly || isFirstInDuration || msBeforeNext <= 0) return res
    const least = this.#minDelayMs ?? Math.ceil((this.duration * 1000) / Math.max(this.points, 1))
    const share = Math.ceil(msBeforeNext / (remainingPoints + 2))
    const delay = share < least ? consumedPoints * least : share
    await new Promise((resolve) => setTimeout(resolve, delay))
    return resOf(remainingPoints, Math.max(msBeforeNext - delay, 0), consumedPoints, isFirstInDuration)
  }
}

/** A result with the library's -1 for points that are kept until they are deleted. */
function resOf(remaining: number, leftMs: number, consumed: number, first: boolean): RateLimiterRes {
  return new RateLimiterRes(remaining, leftMs > LONGEST_MS / 2 ? -1 : leftMs, consumed, first)
}

/** Milliseconds; 0 seconds stand for as long as can be. */
const msOf = (seconds: number): number => (seconds === 0 ? FOREVER_MS : Math.max(seconds * 1000, 1))

function objectOf(options: unknown): Record<string, unknown> {
  if (typeof options === 'object' && options !== null) return options as Record<string, unknown>
  throw wrongType('', 'options', 'must be an object with points and duration', options)
}

function numberOption(options: object, name: string): number {
  const value = (options as Record<string, unknown>)[name]
  if (typeof value !== 'number') throw wrongType('', name, 'must be a number', value)
  if (!(value >= 0 && Number.isFinite(value))) throw outOfRange('', name, 'must be finite and not negative', value)
  return value
}
