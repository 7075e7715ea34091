import type { LimitInfo } from '../results/info.js'

/**
 * A denial of a hold, or of a request of an HTTP client: there was no room for it within its `maxWaitMs`.
 *
 * @example
 * ```js
 * import { BlockedError, concurrency, Limiter } from 'tidegate'
 *
 * const exports = concurrency({ key: 'exports', max: 1, lease: 60_000 })
 * const limiter = new Limiter()
 * const held = await limiter.hold(exports, 'ada')
 * await assert.rejects(limiter.hold(exports, 'ada'), (error) => {
 *   assert.deepEqual([error.code, error.info.key], ['ERR_BLOCKED', 'exports'])
 *   return error instanceof BlockedError && error.retryAfterMs <= 60_000
 * })
 * await held.release()
 * ```
 */
export class BlockedError extends Error {
  /** The code of these errors, the same across threads. */
  readonly code = 'ERR_BLOCKED'
  /** The answer of the call. */
  readonly info: LimitInfo
  /** The milliseconds after which the same call fits at the latest, if nothing else happens. */
  readonly retryAfterMs: number
  static {
    Object.defineProperty(BlockedError.prototype, 'name', { value: 'BlockedError', configurable: true, writable: true })
  }

  /** An error for tests of an app. */
  constructor(info: LimitInfo) {
    super(`limit ${JSON.stringify(info.key)} has no room: retry after ${info.resetMs / 1000} s`)
    this.info = info
    this.retryAfterMs = info.resetMs
  }
}
