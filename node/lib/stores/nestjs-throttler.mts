/** The same class for `import` as for `require`. */

export type * from './nestjs-throttler.js'
export { Store } from './nestjs-throttler.js'
