import { answered, wrongType } from '../errors.js'
import { type NativePolicy, native } from '../native/native.js'
import type { RateLimitPolicy, RateLimits } from '../native/rate-limits.js'

/** Headers as `fetch` has them, as Node has them, or in pairs. */
export type HeadersLike =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The form of times. */
export interface ParseHeadersOptions {
  /** The time in milliseconds since the epoch, from which epochs and dates are counted. @defaultValue the system's */
  readonly now?: number | undefined
}

/**
 * Reads what the headers of a response say of rate limits, in any style that {@link LimitInfo.headers} writes. Times
 * that are epochs or dates are counted from the `Date` of the response, or else from `now`. What is malformed is passed
 * over.
 *
 * @example
 * ```js
 * import { parseHeaders } from 'tidegate'
 *
 * const headers = new Headers({ RateLimit: '"burst";r=0;t=17, "daily";r=640;t=87', 'Retry-After': '17' })
 * const limits = parseHeaders(headers)
 * assert.deepEqual([limits.remaining, limits.retryAfterMs], [0, 17_000])
 * assert.deepEqual(limits.policies.map(({ name, remaining }) => [name, remaining]), [['burst', 0], ['daily', 640]])
 * ```
 */
export function parseHeaders(headers: HeadersLike, options?: ParseHeadersOptions): RateLimits {
  if (typeof headers !== 'object' || headers === null) throw wrongType('', 'headers', 'must be headers', headers)
  const names: string[] = []
  const values: string[] = []
  const isIterable = Symbol.iterator in headers
  const pairs = isIterable ? (headers as Iterable<readonly [string, string]>) : Object.entries(headers)
  for (const pair of pairs) {
    if (!Array.isArray(pair)) throw wrongType('', 'headers', 'must be headers', headers)
    const [name, value] = pair
    for (const line of Array.isArray(value) ? value : [value]) {
      if (typeof line !== 'string' && typeof line !== 'number') continue
      names.push(String(name))
      values.push(String(line))
    }
  }
  const now: unknown = options?.now ?? Date.now()
  if (typeof now !== 'number') throw wrongType('', 'now', 'must be a number', now)
  const read = answered(native.parseHeaders(names, values, now))
  const { limit, remaining, resetMs, fullResetMs, retryAfterMs } = read
  return { policies: read.policies.map(policyOf), limit, remaining, resetMs, fullResetMs, retryAfterMs }
}

function policyOf(policy: NativePolicy): RateLimitPolicy {
  const { name, quota, windowMs, remaining, resetMs, cost, unit, partitionKey } = policy
  return { name, quota, windowMs, remaining, resetMs, cost, unit, partitionKey }
}
