/** The same functions for `import` as for `require`. */

export type * from './web.js'
export { rateLimit } from './web.js'
