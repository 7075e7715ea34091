/**
 * Exact rate limiting: buckets, windows, logs and pacers, decided by a native engine, in memory or on Redis.
 *
 * @packageDocumentation
 */

export type { AnyLimit, Choice, Chosen, WidenedDefinition } from './choice.js'
export type { ClockOption, TimeSource } from './clock.js'
export type { Limit } from './compiled.js'
export type * from './definitions.js'
export {
  Limits,
  type LimitsFormat,
  limitFrom,
  limitJsonSchema,
  type NamedLimits,
  parseLimit,
  parseLimits,
} from './documents.js'
export {
  ConfigurationError,
  LimitError,
  type LimitErrorDetails,
  LimitsError,
  type LimitsFault,
  StoreError,
} from './errors.js'
export type { StoreEvent, StoreEventName } from './events.js'
export { type Allowance, type Explanation, explain, type Standing, type Translated } from './explain.js'
export type { ReportedFailure, StoreFailure } from './failures.js'
export type { HeaderKind, HeaderOptions, Headers } from './headers.js'
export { LimitInfo, type LimitInfoFields } from './info.js'
export { Limiter } from './limiter.js'
export * from './limits.js'
export type {
  AcquireOptions,
  AcquireSyncOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  ExplainOptions,
  TimeOptions,
} from './options.js'
export {
  type HeadersLike,
  type ParseHeadersOptions,
  parseHeaders,
} from './parse-headers.js'
export type { Check } from './parts.js'
export type { RateLimitPolicy, RateLimits } from './rate-limits.js'
export { type Reply, rateLimitHeaders, sendRateLimitHeaders } from './reply.js'
export type { LatencyStats, LimiterStats } from './stats.js'
export type { LimiterOptions, OnError, TlsOptions } from './stores.js'
export type { LimitInfoJson } from './stub.js'
export type { Health } from './upkeep.js'
