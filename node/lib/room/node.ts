/* One request through a room, for frameworks that are made of Node's own request and response. */

import type { ServerResponse } from 'node:http'
import { type Refusal, withoutBody } from '../http/gate.js'
import type { LimitInfo } from '../results/info.js'
import type { Later } from '../time/later.js'
import { RateLimitError } from './rate-limit-error.js'
import { carry, type Decision, infosOf, inOrder, onFinished, type Shelf } from './response.js'
import type { Room } from './room.js'

/** Decides a request whose response is this one; nothing where it is not limited, or this room has decided it. */
export function decideFor<Request>(
  room: Room<Request>,
  request: Request,
  response: object,
  shelf: Shelf,
): Later<LimitInfo | undefined> {
  const newest = shelf.get(response)
  if (newest === undefined) return room.decide(request)
  const rooms = inOrder(newest).map(({ room }) => room as unknown as Room<Request>)
  // One that adds to this room has decided for both.
  if (rooms.some((other) => other === room || other.isAddedTo(room))) return undefined
  return room.decide(request, rooms)
}

/**
 * Has an admitted request carry its headers, and ends it with its response: what it holds is released, and its charge
 * given back where the outcome says so. A response that did not begin, because the client left, is no outcome: to leave
 * early must not be a way to go on for free.
 */
export function admit<Request>(
  response: ServerResponse,
  shelf: Shelf,
  room: Room<Request>,
  info: LimitInfo,
  ...outcome: readonly unknown[]
): Decision {
  const decision = carry(response, shelf, room, info)
  if (room.isOpen(info)) {
    onFinished(response, () => (response.headersSent ? room.settle(info, ...outcome) : room.end(info, true)))
  }
  return decision
}

/** The refusal of a request with this `Accept`; what other rooms charged it is given back. */
export function refuse<Request>(
  accept: string | undefined,
  response: object,
  shelf: Shelf,
  room: Room<Request>,
  info: LimitInfo,
): Refusal {
  const before = shelf.get(response)
  for (const { room, info } of inOrder(before)) room.end(info, false)
  return room.gate.refusal(before === undefined ? info : [...infosOf(before), info], accept)
}

/** The error for an app that answers a refused request itself; the response has the headers in any case. */
export function leave<Request>(
  response: ServerResponse,
  shelf: Shelf,
  room: Room<Request>,
  info: LimitInfo,
  { status, headers }: Refusal,
): RateLimitError {
  const kept = withoutBody(headers)
  carry(response, shelf, room, info, kept)
  return new RateLimitError(info, status, kept)
}

/** The time for an answer that is neither there nor promised. */
const PATIENCE_MS = 10_000

/**
 * Has a refused request answered that a function of the app was called for, so that it does not hang where the function
 * writes a log and nothing else. One that does not take the response (its third argument) can only do that; any other
 * one has some time, as a template takes it.
 */
export function unlessAnswered(
  onBlocked: { readonly length: number },
  response: ServerResponse,
  isAnswered: () => boolean,
  refuse: () => void,
): void {
  if (isAnswered()) return
  if (onBlocked.length < 3) {
    refuse()
    return
  }
  const timer = setTimeout(() => {
    if (!isAnswered()) refuse()
  }, PATIENCE_MS)
  timer.unref()
  onFinished(response, () => clearTimeout(timer))
}
