import { Checked, fieldsOf, type Limit } from './compiled.js'
import type {
  BucketDefinition,
  DecayDefinition,
  Definition,
  FixedWindowDefinition,
  LegacyDefinition,
  SlidingCounterDefinition,
  SlidingLogDefinition,
  SlidingWindowDefinition,
  SmoothDefinition,
  TokenBucketDefinition,
} from './definitions.js'
import { outOfRange } from './errors.js'

function define<D extends Definition>(type: D['type'], fields: unknown): Limit<D> {
  const [names, values] = fieldsOf(fields)
  const given = names.indexOf('type')
  if (given < 0) {
    if (type !== undefined) {
      names.push('type')
      values.push(type)
    }
  } else if (values[given] !== type) {
    const key = values[names.indexOf('key')]
    const problem = type === undefined ? 'must not be given' : `must be ${JSON.stringify(type)}`
    throw outOfRange(typeof key === 'string' ? key : '', 'type', problem, values[given])
  }
  return new Checked(names, values) as unknown as Limit<D>
}

/** A definition's fields where the function says the type. */
type Fields<D extends Definition> = Omit<D, 'type'> & { readonly type?: D['type'] }

/**
 * A leaky bucket as a meter: up to `size` at once, and `dripSize` more every `dripRate` milliseconds.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { bucket, Limiter } from 'tidegate'
 *
 * const login = bucket({ key: 'login', size: 10, dripRate: 1000 })
 * const info = new Limiter().limitSync(login, '203.0.113.9')
 * assert.equal(info.remaining, 9)
 * assert.deepEqual({ ...login }, { key: 'login', size: 10, dripRate: 1000, type: 'bucket' })
 * ```
 */
export function bucket(fields: Fields<BucketDefinition>): Limit<BucketDefinition> {
  return define<BucketDefinition>('bucket', fields)
}

/**
 * A token bucket, decided as GCRA does: `count` per `period` milliseconds at an even pace, up to `burst` at once.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, tokenBucket } from 'tidegate'
 *
 * const api = tokenBucket({ key: 'api', count: 100, period: 1000, burst: 20 })
 * assert.equal(new Limiter().limitSync(api, 'ada', { cost: 5 }).remaining, 15)
 * ```
 */
export function tokenBucket(fields: Fields<TokenBucketDefinition>): Limit<TokenBucketDefinition> {
  return define<TokenBucketDefinition>('token-bucket', fields)
}

/**
 * At most `max` in each window of `period` milliseconds. Two windows may meet in a burst of twice `max`.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { fixedWindow, Limiter } from 'tidegate'
 *
 * const daily = fixedWindow({ key: 'daily', max: 1000, period: 86_400_000 })
 * const info = new Limiter().limitSync(daily, 'ada', { now: 0 })
 * assert.equal(info.fullResetMs, 86_400_000)
 * ```
 */
export function fixedWindow(fields: Fields<FixedWindowDefinition>): Limit<FixedWindowDefinition> {
  return define<FixedWindowDefinition>('fixed-window', fields)
}

/**
 * At most `max` in any `period` milliseconds, counted in slots of `resolution`: never more, at worst a little less.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, slidingWindow } from 'tidegate'
 *
 * const sms = slidingWindow({ key: 'sms', max: 5, period: 3_600_000, resolution: 600_000 })
 * const info = new Limiter().limitSync(sms, '+49 30 901820', { now: 0 })
 * assert.deepEqual([info.remaining, info.fullResetMs], [4, 3_600_000])
 * ```
 */
export function slidingWindow(fields: Fields<SlidingWindowDefinition>): Limit<SlidingWindowDefinition> {
  return define<SlidingWindowDefinition>('sliding-window', fields)
}

/**
 * About `max` in any `period` milliseconds, from two counts alone: this window's, and the last one's weighted by what
 * is left of it.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, slidingCounter } from 'tidegate'
 *
 * const web = slidingCounter({ key: 'web', max: 100, period: 60_000 })
 * const limiter = new Limiter()
 * limiter.limitSync(web, 'ada', { cost: 100, now: 0 })
 * assert.equal(limiter.peekSync(web, 'ada', { now: 90_000 }).remaining, 50)
 * ```
 */
export function slidingCounter(fields: Fields<SlidingCounterDefinition>): Limit<SlidingCounterDefinition> {
  return define<SlidingCounterDefinition>('sliding-counter', fields)
}

/**
 * At most `max` in any `period` milliseconds, exactly, and none sooner than `minInterval` after the last.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, slidingLog } from 'tidegate'
 *
 * const otp = slidingLog({ key: 'otp', max: 5, period: 60_000, minInterval: 1000 })
 * const limiter = new Limiter()
 * limiter.limitSync(otp, 'ada', { now: 0 })
 * const denied = limiter.limitSync(otp, 'ada', { now: 300 })
 * assert.deepEqual([denied.blocked, denied.remaining, denied.resetMs], [true, 4, 700])
 * ```
 */
export function slidingLog(fields: Fields<SlidingLogDefinition>): Limit<SlidingLogDefinition> {
  return define<SlidingLogDefinition>('sliding-log', fields)
}

/**
 * A count of at most `max` that is divided by `decayFactor` every `resolution` milliseconds.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { decay, Limiter } from 'tidegate'
 *
 * const score = decay({ key: 'score', max: 8, decayFactor: 2, resolution: 1000 })
 * const limiter = new Limiter()
 * limiter.limitSync(score, 'ada', { cost: 8, now: 0 })
 * assert.equal(limiter.peekSync(score, 'ada', { now: 1000 }).remaining, 4)
 * ```
 */
export function decay(fields: Fields<DecayDefinition>): Limit<DecayDefinition> {
  return define<DecayDefinition>('decay', fields)
}

/**
 * `rate` permits per second at an even pace. A call is admitted when those before it are paid off, and what it costs is
 * paid by whoever comes next. With a `warmup`, a limiter that was idle starts slowly.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, smooth } from 'tidegate'
 *
 * const mailer = smooth({ key: 'mailer', rate: 5, maxBurst: 0 })
 * const limiter = new Limiter()
 * limiter.limitSync(mailer, 'ada', { now: 0 })
 * assert.equal(limiter.acquireSync(mailer, 'ada', { now: 0 }).waitMs, 200)
 * ```
 */
export function smooth(fields: Fields<SmoothDefinition>): Limit<SmoothDefinition> {
  return define<SmoothDefinition>('smooth', fields)
}

/**
 * The `{ max, duration, minInterval }` form; without any of the three it limits nothing.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { legacy, Limiter } from 'tidegate'
 *
 * const notes = legacy({ key: 'notes/create', max: 300, duration: 3_600_000, minInterval: 1000, translation: 'exact' })
 * const limiter = new Limiter()
 * assert.equal(limiter.limitSync(notes, 'ada').blocked, false)
 * assert.equal(limiter.limitSync(notes, 'ada').resetSec, 1)
 * ```
 */
export function legacy(fields: LegacyDefinition): Limit<LegacyDefinition> {
  return define<LegacyDefinition>(undefined, fields)
}
