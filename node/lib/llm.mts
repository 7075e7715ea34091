/** The same functions for `import` as for `require`. */

export type * from './llm.js'
export { Estimator, limitTool, UsageStream, usageOf } from './llm.js'
