/**
 * The clock of tests.
 *
 * @packageDocumentation
 */

import { outOfRange, wrongType } from './errors.js'
import { holdOff } from './room/switch.js'

/** 1 January 2024, so that an instant in a failed test can be read. */
const START = Date.UTC(2024, 0, 1)

/**
 * A clock that stands still until a test moves it, for {@link Limiter}'s `clock`.
 *
 * @example
 * ```js
 * import { Limiter, tokenBucket } from 'tidegate'
 * import { Clock } from 'tidegate/testing'
 *
 * const clock = new Clock()
 * const limiter = new Limiter({ clock })
 * const login = tokenBucket({ key: 'login', count: 1, period: 60_000 })
 * assert.equal((await limiter.limit(login, 'ada')).blocked, false)
 * assert.equal((await limiter.limit(login, 'ada')).resetSec, 60)
 * clock.advance(60_000)
 * assert.equal((await limiter.limit(login, 'ada')).blocked, false)
 * ```
 */
export class Clock {
  #now: number

  /** A clock that stands at `start`, in milliseconds since the epoch. @defaultValue midnight of 1 January 2024, UTC */
  constructor(start: number | Date = START) {
    this.#now = instant('start', start)
  }

  /** Its time, in milliseconds since the epoch. */
  now(): number {
    return this.#now
  }

  /** Moves it on by so many milliseconds; it never goes back by this. */
  advance(ms: number): this {
    // To the microsecond, in which the engine counts: many small steps end where a large one does.
    this.#now = Math.round((this.#now + instant('ms', ms)) * 1000) / 1000
    return this
  }

  /** Sets it to an instant, in milliseconds since the epoch, which may be an earlier one. */
  set(to: number | Date): this {
    this.#now = instant('to', to)
    return this
  }
}

function instant(field: string, given: unknown): number {
  const ms = given instanceof Date ? given.getTime() : given
  if (typeof ms !== 'number') throw wrongType('', field, 'must be a number of milliseconds', given)
  if (!(ms >= 0 && ms < Infinity)) throw outOfRange('', field, 'must be at least 0 and finite', ms)
  return ms
}

/** Rate limits that are switched off, until they are restored. */
export interface Restorable extends Disposable {
  /** Switches the rate limits on again, unless another call holds them off. */
  restore(): void
}

/**
 * Switches the rate limits of all web frameworks off, in this process: no request is counted or refused, and responses
 * have no headers. For tests of what is behind a limit; limiters that are called directly go on.
 *
 * @example
 * ```js
 * import { rateLimitsOff } from 'tidegate/testing'
 * import { rateLimit } from 'tidegate/web'
 *
 * const check = rateLimit({ limits: '1/minute', key: () => 'all' })
 * const off = rateLimitsOff()
 * assert.equal((await check(new Request('http://localhost'))).info, undefined)
 * off.restore()
 * assert.equal((await check(new Request('http://localhost'))).info.remaining, 0)
 * ```
 */
export function rateLimitsOff(): Restorable {
  const restore = holdOff()
  return { restore, [Symbol.dispose]: restore }
}
