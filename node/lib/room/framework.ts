/* The parts of a room that are of its framework. */

import type { Gate } from '../http/gate.js'
import type { Outcome } from './options.js'
import type { Place } from './route-names.js'

/** The part of a room that knows its framework. */
export interface Framework<Request> {
  /** Names of options beside those of every room. */
  readonly options: readonly string[]
  /** Its name, for events. */
  readonly kind: string
  /** The key of limits that are given as text without a name, where requests say none. @defaultValue 'app' */
  readonly name?: string | undefined
  /** The client's address, as the gate of the room says it. */
  client(request: Request, gate: Gate): string
  /** The status of a response, by what the option `chargeOn` is called with. */
  statusOf(...outcome: Outcome): number
  /** True for a request whose client has closed the connection, which has no address then. */
  isGone(request: Request): boolean
  /** The key of limits that are given as text without a name: the place that a request is at. The gate is told of mistakes. */
  nameOf?(request: Request, gate?: Gate): string
}

/** The way in which a room comes from another. */
export interface Extension<Request> {
  /** Its limits are added to the other's. */
  readonly adds?: boolean
  /** Its place, where that has other rooms, too. */
  readonly place?: Place
  /** The parts of its framework that are other ones. */
  readonly framework?: Partial<Framework<Request>>
}
