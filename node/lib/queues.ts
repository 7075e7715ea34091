/**
 * Job queues: the delay of a job that a limit denied.
 *
 * @packageDocumentation
 */

import { knownOptions, outOfRange, wrongType } from './errors.js'
import { LimitInfo } from './results/info.js'

/** Settings of {@link deferBy}. */
export interface DeferOptions {
  /**
   * The longest random time that is added, in milliseconds. Jobs that were denied together then come back one after
   * another. @defaultValue 0
   */
  readonly spreadMs?: number | undefined
}

/**
 * The milliseconds until a job that was denied is to be tried again, for the delay of its queue; at least 1.
 *
 * A denial must not count as a failed attempt: each queue has its own way to put a job back without one.
 *
 * @example
 * ```js
 * import { Limiter, tokenBucket } from 'tidegate'
 * import { deferBy } from 'tidegate/queues'
 *
 * const limiter = new Limiter()
 * const sms = tokenBucket({ key: 'sms', count: 1, period: 60_000 })
 * limiter.limitSync(sms, 'ada', { now: 0 })
 * const info = limiter.limitSync(sms, 'ada', { now: 15_000 })
 * assert.equal(deferBy(info), 45_000)
 * assert.ok(deferBy(info, { spreadMs: 1000 }) <= 46_000)
 * ```
 */
export function deferBy(info: LimitInfo, options: DeferOptions = {}): number {
  if (!(info instanceof LimitInfo)) throw wrongType('', 'info', 'must be the answer of a limiter', info)
  const { spreadMs = 0 } = knownOptions(options, ['spreadMs'], 'a delay')
  if (typeof spreadMs !== 'number') throw wrongType('', 'spreadMs', 'must be a number', spreadMs)
  if (!(spreadMs >= 0 && spreadMs < 3.2e12)) {
    throw outOfRange('', 'spreadMs', 'must be at least 0 milliseconds and at most 100 years', spreadMs)
  }
  return Math.max(1, info.resetMs + Math.floor(Math.random() * (spreadMs + 1)))
}
