/** The same function for `import` as for `require`. */

export type * from './opentelemetry.js'
export { instrument } from './opentelemetry.js'
