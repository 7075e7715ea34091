/** The same service for `import` as for `require`. */

export type * from './sharkey.js'
export { LimitInfo, RateLimiterService, sendRateLimitHeaders } from './sharkey.js'
