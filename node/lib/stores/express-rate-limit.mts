/** The same class for `import` as for `require`. */

export type * from './express-rate-limit.js'
export { Store } from './express-rate-limit.js'
