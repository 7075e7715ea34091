/**
 * A limiter for the wrappers of rate-limiter-flexible, 11 or later.
 *
 * @packageDocumentation
 */

import { RateLimiterCompatibleAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { knownOptions, outOfRange, wrongType } from '../errors.js'
import type { Limiter } from '../limiter/limiter.js'
import { LONGEST_MS, MOST_POINTS } from './blocks.js'
import { objectOf, storeOptions } from './hits.js'
import { tooOld } from './library.js'
import { PointCounter, type Points } from './points.js'

/** The options of a limiter, with the library's own names. */
export interface Options {
  /**
   * A limiter, which stays the caller's, or the URL of a store. Stores of one URL share a limiter. An option that is
   * there but `undefined` is an error, as a URL that is not set must not mean memory.
   * @defaultValue a limiter of its own, in the memory of this process
   */
  readonly limiter?: Limiter | string | URL
  /**
   * The name before every key. Over a shared store, limiters with the same prefix count together.
   * @defaultValue `rlflx`, with a number behind it for the second one of a limiter, or of a URL
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

if (RateLimiterCompatibleAbstract === undefined) throw tooOld('rate-limiter-flexible', 11)

const OPTIONS = ['limiter', 'points', 'duration', 'blockDuration', 'execEvenly', 'execEvenlyMinDelayMs']
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
  /** Seconds for which a key is blocked that has used more than its points. */
  override blockDuration: number
  /** Spreads actions over the duration. */
  override execEvenly: boolean
  /** The least delay in milliseconds. */
  execEvenlyMinDelayMs: number | undefined
  readonly #counter: PointCounter
  #points: number
  #duration: number

  constructor(options: Options) {
    super()
    const { keyPrefix, ...given } = objectOf(options, 'new Store({ limiter, points, duration })') as Options
    const { limiter, ...own } = knownOptions(given, OPTIONS, 'a limiter') as Partial<Options>
    if (keyPrefix === '') throw outOfRange('', 'keyPrefix', 'must not be empty', keyPrefix)
    this.#points = pointsOption(own.points)
    this.#duration = durationOption(own.duration)
    this.blockDuration = numberOption('blockDuration', own.blockDuration ?? 0)
    this.execEvenly = booleanOption('execEvenly', own.execEvenly ?? false)
    const least = own.execEvenlyMinDelayMs ?? undefined
    this.execEvenlyMinDelayMs = least === undefined ? undefined : numberOption('execEvenlyMinDelayMs', least)
    const store = { prefix: keyPrefix, ...(limiter === undefined ? {} : { limiter }) }
    this.#counter = new PointCounter(storeOptions(store), 'rlflx')
    this.keyPrefix = this.#counter.prefix
  }

  /** The points in a duration; with fewer than one, every action is rejected. */
  get points(): number {
    return this.#points
  }

  set points(points: number) {
    this.#points = pointsOption(points)
  }

  /** Seconds; with 0 points are kept until they are deleted. */
  get duration(): number {
    return this.#duration
  }

  set duration(seconds: number) {
    this.#duration = durationOption(seconds)
  }

  /** Uses points; rejects with a `RateLimiterRes` where there are not enough. */
  override async consume(
    key: string | number,
    pointsToConsume: number | string = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    const points = numberOf(pointsToConsume)
    const taken = await this.#counter.take(`${key}`, windowMs, points)
    const { used, blocked } = taken
    if (!blocked && used <= this.points) return this.#spread(this.#resOf(taken, points))
    // The one that goes over the limit blocks the key; those that come after it find the block.
    const blocks = !blocked && this.blockDuration > 0 && used - points <= this.points
    if (!blocks) throw this.#resOf(taken, points)
    const blockMs = msOf(this.blockDuration)
    await this.#counter.hold(`${key}`, windowMs, used, blockMs, true)
    throw this.#resOf({ ...taken, leftMs: blockMs }, points)
  }

  /** Uses points, and never rejects for want of them. */
  override async penalty(
    key: string | number,
    pointsToAdd: number | string = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    const points = numberOf(pointsToAdd)
    return this.#resOf(await this.#counter.take(`${key}`, windowMs, points), points)
  }

  /** Gives points back, never below 0. */
  override async reward(
    key: string | number,
    pointsToGive: number | string = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    const windowMs = this.#windowMs(options)
    const points = numberOf(pointsToGive)
    if (!(Number.isInteger(points) && points >= 0)) {
      throw outOfRange(this.keyPrefix, 'points', 'must be a whole number of at least 0', points)
    }
    await this.#counter.give(`${key}`, windowMs, points)
    return this.#resOf(await this.#counter.look(`${key}`, windowMs))
  }

  /** The points of a key; null where there are none. */
  override async get(key: string | number, options: CallOptions = {}): Promise<RateLimiterRes | null> {
    const windowMs = this.#windowMs(options)
    const points = await this.#counter.look(`${key}`, windowMs)
    return points.leftMs === 0 ? null : this.#resOf(points)
  }

  /** Sets the points that a key has used, for so many seconds; without a number of them, for the duration. */
  override async set(key: string | number, pointsToSet: number | string, secDuration: number): Promise<RateLimiterRes> {
    const points = numberOf(pointsToSet)
    const holdMs = msOf(secondsOf('secDuration', secDuration) ?? this.duration)
    if (!(Number.isInteger(points) && points <= MOST_POINTS)) {
      throw outOfRange(this.keyPrefix, 'points', `must be a whole number of at most ${MOST_POINTS}`, points)
    }
    return this.#set(`${key}`, Math.max(points, 0), holdMs, points > this.points)
  }

  /** Blocks a key for so many seconds; with 0 until it is deleted. */
  override async block(key: string | number, secDuration: number): Promise<RateLimiterRes> {
    const seconds = numberOption('secDuration', secDuration, this.keyPrefix)
    return this.#set(`${key}`, Math.max(Math.floor(this.points) + 1, 0), msOf(seconds), true)
  }

  /** Forgets a key, its block as well; false where there was none. */
  override async delete(key: string | number, options: CallOptions = {}): Promise<boolean> {
    const known = await this.get(key, options)
    await this.#counter.forget(`${key}`, this.#windowMs(options))
    return known !== null
  }

  /** Closes the limiter, unless it was given as one, or another store of its URL uses it. */
  async close(): Promise<void> {
    await this.#counter.close()
  }

  #windowMs(options: CallOptions | null): number {
    return msOf(secondsOf('customDuration', options?.customDuration) ?? this.duration)
  }

  async #set(key: string, points: number, holdMs: number, blocks: boolean): Promise<RateLimiterRes> {
    await this.#counter.hold(key, this.#windowMs({}), points, holdMs, blocks)
    return resOf(Math.max(this.points - points, 0), holdMs, points, false)
  }

  #resOf({ used, leftMs, blocked }: Points, points = 0): RateLimiterRes {
    const consumed = blocked ? Math.max(used, this.points + 1) : used
    return resOf(Math.max(this.points - consumed, 0), leftMs, consumed, !blocked && points > 0 && consumed === points)
  }

  /** Delays an action by its share of the time that is left, where actions are spread. */
  async #spread(res: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = res
    if (!this.execEvenly || isFirstInDuration || msBeforeNext <= 0) return res
    const least = this.execEvenlyMinDelayMs ?? Math.ceil((this.duration * 1000) / Math.max(this.points, 1))
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

/** Points of a call, which may be a whole number as text, as for the library's limiter over Redis. */
const numberOf = (points: number | string): number =>
  typeof points === 'string' && /^[1-9][0-9]*$/.test(points) ? Number(points) : (points as number)

function pointsOption(points: unknown): number {
  if (typeof points !== 'number') throw wrongType('', 'points', 'must be a number', points)
  if (!Number.isFinite(points)) throw outOfRange('', 'points', 'must be finite', points)
  if (points > MOST_POINTS) throw outOfRange('', 'points', `must be at most ${MOST_POINTS}`, points)
  return points
}

function numberOption(name: string, given: unknown, key = ''): number {
  if (typeof given !== 'number') throw wrongType(key, name, 'must be a number', given)
  if (given >= 0 && Number.isFinite(given)) return given
  throw outOfRange(key, name, 'must be finite and not negative', given)
}

function booleanOption(name: string, given: unknown): boolean {
  if (typeof given === 'boolean') return given
  throw wrongType('', name, 'must be a boolean', given)
}

function durationOption(given: unknown): number {
  const seconds = numberOption('duration', given)
  if (msOf(seconds) <= FOREVER_MS) return seconds
  throw outOfRange('', 'duration', 'must be at most 100 years, and 0 has no end', seconds)
}

/** The seconds of a call; nothing where the library takes those of the limiter. */
function secondsOf(name: string, seconds: unknown): number | undefined {
  if (seconds === undefined || seconds === null) return undefined
  if (typeof seconds !== 'number') throw wrongType('', name, 'must be a number', seconds)
  return seconds >= 0 ? seconds : undefined
}
