/* Functions of the app that are asked about a request; requests that cannot be decided because of them: mistakes of clients. */

import { answered, ConfigurationError, errorOf, LimitError, nameErrors } from '../errors.js'
import { keyOf } from '../http/clients.js'
import { native, type RequestErrorName } from '../native/native.js'
import { attempt, type Later, same } from '../time/later.js'

/** The error of such a request; frameworks read its status, and none of them logs it as a fault of the program. */
export class RequestError extends Error {
  readonly code = 'ERR_REQUEST'
  /** The engine's name of it. */
  readonly mistake: RequestErrorName
  readonly status: number
  readonly statusCode: number
  /** The message repeats nothing of the request. */
  readonly expose = true

  constructor(mistake: RequestErrorName, cause: unknown) {
    const { status, detail } = answered(native.requestErrorParts(mistake))
    super(detail, { cause })
    this.mistake = mistake
    this.status = status
    this.statusCode = status
  }
}

nameErrors(RequestError, 'RequestError')

/** The error of the request behind one of a decision; others stay as they are. */
export function ofRequest(error: unknown): unknown {
  const mistake = error instanceof LimitError ? native.requestError(error.field, error.value) : null
  return mistake === null ? error : new RequestError(mistake, error)
}

const ABORTED = 'request.aborted'

/**
 * The error for a request whose client has left. That it has no address is no mistake in the set-up, so the error is the
 * one that parsers of bodies have for such a request.
 */
export function aborted(cause: unknown): unknown {
  if (!(cause instanceof ConfigurationError)) return cause
  const fields = { code: 'ECONNABORTED', type: ABORTED, status: 400, statusCode: 400, expose: true }
  return Object.assign(new Error('request aborted', { cause }), fields)
}

export const isAborted = (error: unknown): error is Error => (error as { type?: unknown } | null)?.type === ABORTED

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

/** The part of a rule that says what a request costs. */
interface Costing {
  readonly limit: { readonly key: string }
  readonly cost: unknown
}

/** The same behind one about a cost that a function has made of the request, and not about one that the app fixes. */
export function ofChosenCost(rules: readonly Costing[], error: unknown): unknown {
  if (!(error instanceof LimitError) || error.field !== 'cost') return error
  const about = rules.filter(({ limit }) => limit.key === error.key)
  const isChosen = (about.length > 0 ? about : rules).some(({ cost }) => typeof cost === 'function')
  return isChosen ? ofRequest(error) : error
}

/**
 * The cost of a request, as a function of the app estimates it. A client sends what it likes: where the function fails
 * as code does that expects something else, the mistake is the client's. It is told once for a room, as it may be the
 * program's: a function of the request may make its costs anew each time.
 */
export function estimated<Request>(
  cost: (request: Request) => Later<number>,
  request: Request,
  room: object,
): Later<number> {
  const failed = (error: unknown): never => {
    if (!isOfInput(error)) throw error
    if (!told.has(room)) {
      told.add(room)
      const problem = 'the cost of a request cannot be told, which is answered with status 400'
      process.emitWarning(`${problem}: ${error.stack ?? error}`, { type: 'TidegateWarning', code: 'TIDEGATE_COST' })
    }
    throw new RequestError('unreadable', error)
  }
  return attempt(() => asked(cost, request), failed, same)
}

/** The rooms that have told of it. */
const told = new WeakSet<object>()

const VALIDATION = /Validation|^Zod|^ValiError$/

function isOfInput(error: unknown): error is Error {
  if (!(error instanceof Error) || 'status' in error || 'statusCode' in error) return false
  const isOfShape = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
  return isOfShape || VALIDATION.test(error.name)
}

/** Asks a function of the app about a request. What it throws is always an error. */
export function asked<Request, T>(ask: (request: Request) => Later<T>, request: Request): Later<T> {
  return attempt(() => ask(request), rethrow, same)
}

/** Throws what a function of the app has thrown, as an error in any case. */
export const rethrow = (reason: unknown): never => {
  throw errorFrom(reason)
}

/** An error for anything that is thrown: frameworks take nothing for success, and Express takes some words for orders. */
export function errorFrom(reason: unknown): unknown {
  if (typeof reason === 'object' && reason !== null) return reason
  return new Error('a function of the rate limit failed, and not with an error', { cause: reason })
}
