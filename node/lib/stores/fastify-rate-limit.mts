/** The same class for `import` as for `require`. */

export type * from './fastify-rate-limit.js'
export { Store } from './fastify-rate-limit.js'
