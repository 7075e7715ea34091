/** The same functions for `import` as for `require`. */

export type * from './hono.js'
export { RateLimitError, rateLimit } from './hono.js'
