/** The same plugin for `import` as for `require`. */

import tidegate from './fastify.js'

export default tidegate
/** A refused request, as `setErrorHandler` sees it. */
export const RateLimitError = tidegate.RateLimitError
export type RateLimitError = tidegate.RateLimitError
export type RateLimitHook = tidegate.RateLimitHook
export type RateLimitOptions = tidegate.RateLimitOptions
export type RouteLimits = tidegate.RouteLimits
export type RoomLimit = tidegate.RoomLimit
export type RoomLimits = tidegate.RoomLimits
export type Rule = tidegate.Rule
export type Trials = tidegate.Trials
