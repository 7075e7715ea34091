import { keyOf } from '../clients.js'
import { errorOf } from '../errors.js'
import { native } from '../native.js'
import { ofRequest } from './request-error.js'

/** So many units of UTF-16 are never more bytes than an actor may have. */
const SHORT = 16_384

/** The actor of what a key has given. One that no actor can be is what a client has sent. */
export function actorText(given: string): string {
  const actor = keyOf(given)
  if (actor.length <= SHORT && actor.isWellFormed()) return actor
  const failure = native.checkActor(actor)
  if (failure === null) return actor
  throw ofRequest(errorOf(failure))
}
