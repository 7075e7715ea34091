/** The same class for `import` as for `require`. */

export type { Restorable } from './testing.js'
export { Clock, rateLimitsOff } from './testing.js'
