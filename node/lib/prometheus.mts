/** The same function for `import` as for `require`. */

export type * from './prometheus.js'
export { collectMetrics } from './prometheus.js'
