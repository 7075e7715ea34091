/** The same objects for `import` as for `require`, so that an error of the one is an instance of the other's class. */

export type * from './index.js'
export {
  BlockedError,
  ConfigurationError,
  clientOf,
  explain,
  Hold,
  LimitError,
  Limiter,
  LimitInfo,
  Limits,
  LimitsError,
  limitFrom,
  limitJsonSchema,
  parseHeaders,
  parseLimit,
  parseLimits,
  rateLimitHeaders,
  SelectedLimits,
  StoreError,
  sendRateLimitHeaders,
  WatchedLimits,
} from './index.js'
export * from './limits.mjs'
