/**
 * Exact rate limiting: buckets, windows, logs and pacers, decided by a native engine, in memory or on Redis.
 *
 * @packageDocumentation
 */

export type { AnyLimit, Choice, Chosen, WidenedDefinition } from './choice.js'
export { type ClientOptions, clientOf } from './clients.js'
export type { ClockOption, TimeSource } from './clock.js'
export type { Limit } from './definition_cache.js'
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
  type StoreFailure,
} from './errors.js'
export type { DeniedEvent, StoreEvent } from './events.js'
export { type Allowance, type CallExplanation, type Explanation, explain, type LegacyTranslation } from './explain.js'
export type { HeaderKind, HeaderOptions, Headers } from './headers.js'
export { LimitInfo, type LimitInfoFields } from './info.js'
export { Limiter } from './limiter.js'
export * from './limits.js'
export type {
  Counters,
  FailureEventName,
  InfoNumbers,
  LimiterOptions,
  ReportedFailure,
  StoreEventName,
  TlsOptions,
} from './names.js'
export type {
  AcquireOptions,
  AcquireSyncOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  ExplainOptions,
  LimitOptions,
  ObserveOptions,
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
export type { OnError } from './stores.js'
export type { LimitInfoJson } from './stub.js'
export type { Health } from './upkeep.js'
