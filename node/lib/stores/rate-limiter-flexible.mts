/** The same class for `import` as for `require`. */

export type * from './rate-limiter-flexible.js'
export { Store } from './rate-limiter-flexible.js'
