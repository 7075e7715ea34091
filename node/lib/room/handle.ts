/* The parts that a limit of a framework has beside its call: its counts, its limiter, and more limits. */

import type { Limiter } from '../limiter/limiter.js'
import { type RouteOptions, routeOptions } from './options.js'
import type { Trials } from './plan.js'
import type { Room } from './room.js'
import type { LimitsOfRequest, RoomLimits } from './rules.js'

export { RateLimitError } from './rate-limit-error.js'
export type { RoomLimit, RoomLimits, Rule } from './rules.js'
export type { Trials }

/** The counts and the limiter of limits. */
export interface Counted {
  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials
  /** The limiter, for its events. */
  readonly limiter: Limiter
}

/** Limits to which others can be added; `Made` is what the framework makes of them. */
export interface Extensible<Request, Options, Made> extends Counted {
  /**
   * The same with more limits: one decision for all of them, either every one is charged or none. If these limits have
   * already decided the request, the new ones decide only what is added.
   */
  and(more: RoomLimits<Request> | LimitsOfRequest<Request> | RouteOptions<Options>): Made
}

export const counted = <Call extends object, Request>(call: Call, room: Room<Request>): Call & Counted =>
  Object.assign(call, { trials: () => room.trials(), limiter: room.limiter })

/** A call to whose limits others can be added; the framework makes such a function of a room. */
export function extensible<Request, Made>(
  call: object,
  room: Room<Request>,
  make: (room: Room<Request>) => Made,
): Made {
  const and = (more: unknown): Made => make(room.extend(routeOptions(more), { adds: true }))
  return Object.assign(counted(call, room), { and }) as unknown as Made
}
