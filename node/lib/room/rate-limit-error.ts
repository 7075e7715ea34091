import { nameErrors } from '../errors.js'
import type { Headers } from '../results/headers.js'
import type { LimitInfo } from '../results/info.js'

/**
 * A refused request, for an app that answers it itself: frameworks read its status, and some its headers.
 *
 * @example
 * ```js
 * import { LimitInfo } from 'tidegate'
 * import { RateLimitError } from 'tidegate/express'
 *
 * const error = new RateLimitError(new LimitInfo({ blocked: true, resetMs: 1500, key: 'login' }), 429)
 * assert.deepEqual([error.statusCode, error.code], [429, 'ERR_RATE_LIMITED'])
 * assert.equal(error.message, 'Too many requests, retry in 2 seconds')
 * ```
 */
export class RateLimitError extends Error {
  /** Tells these errors from all others, also across threads. */
  readonly code = 'ERR_RATE_LIMITED'
  /** The status of the response. */
  readonly status: number
  /** The same, as Fastify and others call it. */
  readonly statusCode: number
  /** The message may be shown to the client. */
  readonly expose = true
  /** The answer that refused the request. */
  readonly info: LimitInfo
  /** The headers of the response, by name. */
  readonly headers: Headers

  constructor(info: LimitInfo, status: number, headers: Headers = {}) {
    super(`Too many requests, retry in ${info.resetSec} second${info.resetSec === 1 ? '' : 's'}`)
    this.info = info
    this.status = status
    this.statusCode = status
    this.headers = headers
  }
}

nameErrors(RateLimitError, 'RateLimitError')
