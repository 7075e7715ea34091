/** The same class for `import` as for `require`. */

export { Clock } from './testing.js'
