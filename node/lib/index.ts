/**
 * Exact rate limiting: buckets, windows, logs and pacers, decided by a native engine, in memory or on Redis.
 *
 * @packageDocumentation
 */

export {
  ConfigurationError,
  LimitError,
  type LimitErrorDetails,
  LimitsError,
  type LimitsFault,
  StoreError,
  type StoreFailure,
} from './errors.js'
export { type ClientOptions, clientOf } from './http/clients.js'
export {
  type HeadersLike,
  type ParseHeadersOptions,
  parseHeaders,
} from './http/parse-headers.js'
export { BlockedError } from './limiter/blocked-error.js'
export type {
  AcquireOptions,
  AcquireSyncOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  ExplainOptions,
  HoldOptions,
  LimitOptions,
  ObserveOptions,
  TimeOptions,
} from './limiter/call-options.js'
export type { DeniedEvent, StoreEvent } from './limiter/events.js'
export {
  type Allowance,
  type CallExplanation,
  type Explanation,
  explain,
  type LegacyTranslation,
} from './limiter/explain.js'
export { Hold } from './limiter/hold.js'
export { Limiter } from './limiter/limiter.js'
export type { Check } from './limiter/parts.js'
export type { OnError } from './limiter/store.js'
export type { LimiterOptions, TlsOptions } from './limiter/store-options.js'
export type { Health } from './limiter/upkeep.js'
export type { AnyLimit, Choice, Chosen, WidenedDefinition } from './limits/choice.js'
export type { Limit } from './limits/definition-cache.js'
export type * from './limits/definitions.js'
export {
  type LimitOverride,
  Limits,
  type LimitsFormat,
  type NamedLimits,
  SelectedLimits,
  WatchedLimits,
  type WatchOptions,
} from './limits/documents.js'
export { limitFrom, limitJsonSchema, parseLimit, parseLimits } from './limits/read.js'
export * from './limits.js'
export type {
  Counters,
  FailureEventName,
  InfoNumbers,
  ReportedFailure,
  StoreEventName,
} from './native/names.js'
export type { RateLimitPolicy, RateLimits } from './native/rate-limits.js'
export type { HeaderKind, HeaderOptions, Headers } from './results/headers.js'
export { LimitInfo, type LimitInfoFields } from './results/info.js'
export type { Metric, MetricHistogram, MetricSample } from './results/metrics.js'
export { type Reply, rateLimitHeaders, sendRateLimitHeaders } from './results/send-headers.js'
export type { LatencyStats, LimiterStats } from './results/stats.js'
export type { LimitInfoJson } from './results/stub.js'
export type { Top, TopActor } from './results/top.js'
export type { ClockOption, TimeSource } from './time/clock.js'
