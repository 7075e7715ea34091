/** The same function for `import` as for `require`. */

export type * from './queues.js'
export { deferBy } from './queues.js'
