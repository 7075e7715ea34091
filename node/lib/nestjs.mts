/** The same classes for `import` as for `require`. */

export type * from './nestjs.js'
export { RateLimit, RateLimitException, SkipRateLimit, TidegateGuard, TidegateModule } from './nestjs.js'
