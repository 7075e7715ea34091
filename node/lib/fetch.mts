/** The same function for `import` as for `require`. */

export type * from './fetch.js'
export { BlockedError, rateLimit } from './fetch.js'
