import { errorOf } from '../errors.js'
import { native } from '../native.js'

/** So many units of UTF-16 are never more bytes than an actor may have. */
const SHORT = 16_384

/**
 * The actor that a key has given. One that no actor can be is what a client has sent: the error has the status of a bad
 * request, which frameworks read of it, and is not logged as a fault of the program where they know how.
 */
export function actorText(actor: string): string {
  if (actor.length <= SHORT && actor.isWellFormed()) return actor
  const failure = native.checkActor(actor)
  if (failure === null) return actor
  throw Object.assign(errorOf(failure), { status: 400, statusCode: 400, expose: true })
}

/** True of the error for such an actor. */
export function isBadActor(error: unknown): error is Error & { readonly status: 400 } {
  return error instanceof Error && 'code' in error && error.code === 'ERR_LIMIT' && 'status' in error
}
