/** The same class for `import` as for `require`. */

export type * from './hono-rate-limiter.js'
export { Store } from './hono-rate-limiter.js'
