/**
 * Exact rate limiting: leaky buckets, token buckets and fixed windows, decided by a native engine in memory.
 *
 * @packageDocumentation
 */

export type { Check } from './checks.js'
export type {
  BucketDefinition,
  Definition,
  FactorScales,
  FixedWindowDefinition,
  LegacyDefinition,
  TokenBucketDefinition,
} from './definitions.js'
export { LimitError, type LimitErrorDetails, StoreError } from './errors.js'
export {
  type HeaderKind,
  type HeaderOptions,
  type Headers,
  type Reply,
  rateLimitHeaders,
  sendRateLimitHeaders,
} from './headers.js'
export type { LimitInfo } from './info.js'
export { Limiter, type LimiterOptions, type Limits } from './limiter.js'
export { bucket, fixedWindow, type Limit, legacy, tokenBucket } from './limits.js'
export type { AcquireOptions, AcquireSyncOptions, CallOptions, TimeOptions } from './options.js'
