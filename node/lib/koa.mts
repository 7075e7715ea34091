/** The same functions for `import` as for `require`. */

export type * from './koa.js'
export { RateLimitError, rateLimit } from './koa.js'
