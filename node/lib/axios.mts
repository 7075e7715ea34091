/** The same function for `import` as for `require`. */

export type * from './axios.js'
export { BlockedError, rateLimit } from './axios.js'
