import type { ReportedFailure } from './native/names.js'
import { type DocumentFailure, type Failure, native } from './native/native.js'

/**
 * The reason why a store did not decide a call: the {@link ReportedFailure | failure} of a server; `closed` for a
 * closed limiter; or `must-wait` for a `Sync` method over a shared store.
 */
export type StoreFailure = ReportedFailure | 'closed' | 'must-wait'

/** The details of a {@link LimitError} beside its message. */
export interface LimitErrorDetails {
  /** The key of the limit, cut short where it is long; empty where none is at fault. */
  readonly key: string
  /** The field at fault, as the wire form spells it: `size`, `dripRate`, `cost`, … */
  readonly field: string
  /** The value at fault as text, cut short where it is long. */
  readonly value: string
}

/**
 * The error for an invalid definition, actor, cost, factor or time; nothing was stored.
 *
 * It is a `TypeError` where a value has the wrong type or a field does not exist, and a `RangeError` where a value is
 * out of bounds; `instanceof LimitError` holds for both.
 *
 * @example
 * ```js
 * import { bucket, LimitError } from 'tidegate'
 *
 * try {
 *   bucket({ key: 'login', size: 0 })
 * } catch (error) {
 *   assert(error instanceof LimitError && error instanceof RangeError)
 *   assert.equal(error.code, 'ERR_LIMIT')
 *   assert.equal(error.field, 'size')
 *   assert.equal(error.message, 'limit "login": size must be at least 1, got 0')
 * }
 * ```
 */
export abstract class LimitError extends Error implements LimitErrorDetails {
  /** The code of these errors, the same across threads. */
  declare readonly code: 'ERR_LIMIT'
  declare readonly key: string
  declare readonly field: string
  declare readonly value: string

  /** True if a value is an error of one of the two classes that stand for this one. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof LimitRangeError || value instanceof LimitTypeError
  }
}

class LimitRangeError extends RangeError {
  readonly code = 'ERR_LIMIT'
  declare readonly key: string
  declare readonly field: string
  declare readonly value: string
}

class LimitTypeError extends TypeError {
  readonly code = 'ERR_LIMIT'
  declare readonly key: string
  declare readonly field: string
  declare readonly value: string
}

for (const each of [LimitRangeError, LimitTypeError]) nameErrors(each, 'LimitError')

/**
 * The error for a call that the store did not decide: it failed and `onError` is `'raise'`, the limiter was closed, or
 * a `Sync` method was called over a shared store.
 *
 * @example
 * ```js
 * import { bucket, Limiter, StoreError } from 'tidegate'
 *
 * const limiter = new Limiter('redis://127.0.0.1:1', { onError: 'raise' })
 * await assert.rejects(limiter.limit(bucket({ key: 'login', size: 10 }), 'ada'), (error) => {
 *   assert.deepEqual([error.code, error.server, error.mayHaveHappened], ['ERR_STORE', '127.0.0.1:1', false])
 *   return error instanceof StoreError
 * })
 * ```
 */
export class StoreError extends Error {
  /** The code of these errors, the same across threads. */
  readonly code = 'ERR_STORE'
  /** The status of the response, for frameworks that read it of an error: the service is unavailable. */
  readonly status = 503
  /** The reason. */
  readonly failure: StoreFailure
  /** True if the store may have charged the call all the same: do not repeat it without a check. */
  readonly mayHaveHappened: boolean
  /** The server that did not decide; empty if it is unknown, or no server is at fault. */
  readonly server: string
  /** The reason in words. */
  readonly reason: string
  /** The message of the server or of the system, such as `NOAUTH Authentication required.`, where there is one. */
  declare readonly cause: string | undefined

  /** @internal */
  constructor(message: string, failure: StoreFailure, said: Partial<Failure> = {}) {
    super(message, said.cause === undefined ? undefined : { cause: said.cause })
    this.failure = failure
    this.mayHaveHappened = said.mayHaveHappened ?? false
    this.server = said.server ?? ''
    this.reason = said.reason ?? message
  }
}

nameErrors(StoreError, 'StoreError')

/** One fault of a document of limits. */
export interface LimitsFault {
  /** The path inside the document, such as `login.size`; empty for the document as a whole. */
  readonly path: string
  /** The error, without its path. */
  readonly message: string
  /** The line of a syntax error, counted from 1. */
  readonly line: number | undefined
  /** The column of a syntax error, counted from 1. */
  readonly column: number | undefined
}

/** The error for an invalid document of limits. */
export class LimitsError extends Error {
  /** The code of these errors, the same across threads. */
  readonly code = 'ERR_LIMITS'
  /** Every fault, in the order of the document; at least one. */
  readonly errors: readonly LimitsFault[]

  /** @internal */
  constructor({ message, errors }: DocumentFailure) {
    super(message)
    this.errors = errors.map(({ path, message, line, column }) => ({ path, message, line, column }))
  }
}

nameErrors(LimitsError, 'LimitsError')

/**
 * A request that cannot be limited because of a mistake in how the application is set up.
 *
 * @example
 * ```js
 * import { ConfigurationError } from 'tidegate'
 *
 * const error = new ConfigurationError('the request has no client address', 'no-client-address')
 * assert.deepEqual([error.code, error.mistake], ['ERR_CONFIGURATION', 'no-client-address'])
 * ```
 */
export class ConfigurationError extends Error {
  /** The code of these errors, the same across threads. */
  readonly code = 'ERR_CONFIGURATION'
  /** The code of the mistake, such as `no-client-address`. */
  readonly mistake: string
  /** The URL of its page in the documentation. */
  readonly page: string

  /** An error for tests of an app. */
  constructor(
    message: string,
    mistake: string,
    page = native.mistakePage(mistake),
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
    this.mistake = mistake
    this.page = page
  }
}

nameErrors(ConfigurationError, 'ConfigurationError')

/** Has errors of a class say this name, whatever a bundler calls the class. */
export function nameErrors({ prototype }: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true })
}

/** The error of a failure; `cause` was thrown by an object of the caller's. */
export function errorOf(failure: Failure, cause?: unknown): Error {
  const { kind, key, field, value, message } = failure
  if (kind === 'closed') return new StoreError(message, 'closed')
  if (kind === 'store') return new StoreError(message, value as ReportedFailure, failure)
  if (kind === 'configuration') return new ConfigurationError(message, value, failure.reason)
  if (kind === 'internal') return new Error(message)
  const options = cause === undefined ? undefined : { cause }
  const error = kind === 'type' ? new LimitTypeError(message, options) : new LimitRangeError(message, options)
  return Object.assign(error, { key, field, value })
}

/** The error for a call that was to be answered at once, but has to wait. */
export function mustWait(): Error {
  const message = 'this limiter uses a shared store: call the method without Sync, which returns a promise'
  return new StoreError(message, 'must-wait')
}

/** Returns an answer, or throws the error of a failure. */
export function answered<T extends number | string | object>(answer: T | Failure): T {
  if (typeof answer === 'object' && 'kind' in answer) throw errorOf(answer)
  return answer as T
}

/** The error for a value of the wrong type, or a field that does not exist. */
export function wrongType(key: string, field: string, problem: string, value: unknown): Error {
  return errorOf(native.refuse(false, key, field, problem, value))
}

/** The error for an option of `what` that does not exist. */
export function noOption(key: string, name: string, what: string, known: readonly string[], value: unknown): Error {
  return wrongType(key, name, `is not an option of ${what}${native.hint(name, known)}`, value)
}

/** The error for a value of the right type that is not one of those that may be. */
export function outOfRange(key: string, field: string, problem: string, value: unknown): Error {
  return errorOf(native.refuse(true, key, field, problem, value))
}

/** Reads a property once; an error thrown by a getter is reported as the field's. */
export function read(of: object, field: string, key: string): unknown {
  try {
    return (of as Record<string, unknown>)[field]
  } catch (cause) {
    throw errorOf(native.refuse(false, key, field, 'must be readable', 'an error'), cause)
  }
}

/** Own enumerable names; an error thrown by a proxy is reported as the field's. */
export function ownKeys(of: object, field: string, key: string): string[] {
  try {
    return Object.keys(of)
  } catch (cause) {
    throw errorOf(native.refuse(false, key, field, 'must be readable', 'an error'), cause)
  }
}

/**
 * The names of options, of which these are `known`. A promise, a map or a limiter in their place is refused, for it has
 * none that are its own; and so is an option that only its class has, a method or a getter, which would go unnoticed.
 */
export function optionNames(given: unknown, field: string, known: readonly string[], key = ''): string[] {
  if (typeof given !== 'object' || given === null) throw wrongType(key, field, 'must be an object with options', given)
  const names = ownKeys(given, field, key)
  if (isPlain(given)) return names
  for (const name of known) {
    if (Object.hasOwn(given, name)) continue
    const value = read(given, name, key)
    if (value === undefined) continue
    throw wrongType(key, name, 'must be a property of the object itself, not of its class', value)
  }
  if (names.length === 0) throw wrongType(key, field, 'must be an object with options', given)
  return names
}

/** True for a promise, a map, or an object of another class that has no names of its own. */
export function isForeign(given: object, names: readonly string[]): boolean {
  return names.length === 0 && !isPlain(given)
}

/** True for `{}` of any realm, but not for an object of a class, such as a Limiter, or a URL. */
function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The problem of what is no limiter. */
export const NO_LIMITER = 'must be a Limiter or the URL of a store'

/** Options as an object of their own, each read once; a name that is not among those of `what` is refused. */
export function knownOptions(
  given: object,
  names: readonly string[],
  what: string,
  field = 'options',
): Record<string, unknown> {
  const options: Record<string, unknown> = {}
  for (const name of optionNames(given, field, names)) {
    const value = read(given, name, '')
    if (!names.includes(name)) throw noOption('', name, what, names, value)
    // The URL in a variable that is not set would mean memory, where each process counts alone.
    if (name === 'limiter' && (value ?? undefined) === undefined) {
      throw wrongType('', name, `${NO_LIMITER}; leave it out for memory`, value)
    }
    if (value !== undefined) options[name] = value
  }
  return options
}
