/** The same functions for `import` as for `require`. */

export type * from './express.js'
export { RateLimitError, rateLimit } from './express.js'
