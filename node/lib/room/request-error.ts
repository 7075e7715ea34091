/* Requests that cannot be decided, because of a key or a cost that was made of them: mistakes of clients. */

import { answered, LimitError } from '../errors.js'
import { native, type RequestErrorName } from '../native.js'
import { asked } from './asked.js'
import type { Later, ReadyRule } from './rules.js'

/** The error of such a request; frameworks read its status, and none of them logs it as a fault of the program. */
export class RequestError extends Error {
  /** Tells these errors from all others. */
  readonly code = 'ERR_REQUEST'
  /** The engine's name of it. */
  readonly mistake: RequestErrorName
  /** The status of the response. */
  readonly status: number
  /** The same, as Fastify and others call it. */
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

  static {
    const value = 'RequestError'
    Object.defineProperty(RequestError.prototype, 'name', { value, configurable: true, writable: true })
  }
}

/** The error of the request behind one of a decision; others stay as they are. */
export function ofRequest(error: unknown): unknown {
  const mistake = error instanceof LimitError ? native.requestError(error.field, error.value) : null
  return mistake === null ? error : new RequestError(mistake, error)
}

/** True for an error about a cost that a function has made of the request, and not about one that the app fixes. */
export function hasChosenCost(rules: readonly ReadyRule<never>[], error: unknown): boolean {
  if (!(error instanceof LimitError) || error.field !== 'cost') return false
  const about = rules.filter(({ limit }) => limit.key === error.key)
  return (about.length > 0 ? about : rules).some(({ cost }) => typeof cost === 'function')
}

/**
 * The cost of a request, as a function of the app estimates it. A client sends what it likes: where the function fails
 * as code does that expects something else, the mistake is the client's. It is told once, as it may be the program's.
 */
export function estimated<Request>(cost: (request: Request) => Later<number>, request: Request): Later<number> {
  const failed = (error: unknown): never => {
    if (!isOfInput(error)) throw error
    if (!told.has(cost)) {
      told.add(cost)
      const problem = 'the cost of a request cannot be told, which is answered with status 400'
      process.emitWarning(`${problem}: ${error.stack ?? error}`, { type: 'TidegateWarning', code: 'TIDEGATE_COST' })
    }
    throw new RequestError('unreadable', error)
  }
  try {
    const given = asked(cost, request)
    return given instanceof Promise ? given.catch(failed) : given
  } catch (error) {
    return failed(error)
  }
}

const told = new WeakSet<object>()

/** Errors of validators, by their names. */
const VALIDATION = /Validation|^Zod|^ValiError$/

function isOfInput(error: unknown): error is Error {
  if (!(error instanceof Error) || 'status' in error || 'statusCode' in error) return false
  const isOfShape = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
  return isOfShape || VALIDATION.test(error.name)
}
