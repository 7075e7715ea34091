/** The same function for `import` as for `require`. */

export type * from './undici.js'
export { BlockedError, rateLimit } from './undici.js'
