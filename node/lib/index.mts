/** The same objects for `import` as for `require`, so that an error of the one is an instance of the other's class. */

export type * from './index.js'
export {
  bucket,
  decay,
  explain,
  fixedWindow,
  LimitError,
  Limiter,
  LimitInfo,
  Limits,
  LimitsError,
  legacy,
  limitFrom,
  limitJsonSchema,
  parseLimit,
  parseLimits,
  rateLimitHeaders,
  StoreError,
  sendRateLimitHeaders,
  slidingCounter,
  slidingLog,
  slidingWindow,
  smooth,
  tokenBucket,
} from './index.js'
