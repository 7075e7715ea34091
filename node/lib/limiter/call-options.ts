import { noOption, optionNames, read, wrongType } from '../errors.js'

/** The context of limits that are functions. */
export interface ContextOptions<C = unknown> {
  /** Passed to every limit that is a function; the limiter itself does not read it. */
  readonly context?: C | undefined
}

/** The options of a call. */
export interface CallOptions<C = unknown> extends ContextOptions<C> {
  /** The units that the call takes: a whole number of at least 0. @defaultValue 1 */
  readonly cost?: number | null | undefined
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
  /** Milliseconds since the epoch, in place of the clock: for replays, simulations and tests. */
  readonly now?: number | null | undefined
}

/** The options of a `limit` or a `peek`. */
export interface LimitOptions<C = unknown> extends CallOptions<C> {
  /**
   * Takes as much of `cost` as there is room for, and no less than this: `info.granted` says how much. Where several
   * limits decide, each gets the same units. `cost` may be above what they ever admit.
   */
  readonly atLeast?: number | null | undefined
}

/** The options of an `acquire` that answers at once. */
export interface AcquireSyncOptions<C = unknown> extends CallOptions<C> {
  /** Milliseconds since the epoch, in place of the clock. The call does not wait: `waitMs` is the time to wait. */
  readonly now: number
  /** The longest wait in milliseconds; a call that would wait longer is denied immediately. @defaultValue no bound */
  readonly maxWaitMs?: number | null | undefined
}

/** The options of an `acquire`. */
export interface AcquireOptions<C = unknown> extends CallOptions<C> {
  /** The longest wait in milliseconds; a call that would wait longer is denied immediately. @defaultValue no bound */
  readonly maxWaitMs?: number | null | undefined
  /** Cancels the wait: the charge is given back, and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined
}

/** The options of a `hold`. */
export interface HoldOptions<C = unknown> extends ContextOptions<C> {
  /** The units that each limit is charged: a whole number of at least 0. @defaultValue 1 */
  readonly cost?: number | null | undefined
  /** One cost for each limit, in place of `cost`. */
  readonly costs?: readonly number[] | null | undefined
  /** Scales the limits for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
  /** The longest wait for room, in milliseconds. @defaultValue 0 */
  readonly maxWaitMs?: number | null | undefined
  /** Cancels the wait: nothing is held then, and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined
}

/** The options of an `observe`: at least one of the first two. */
export interface ObserveOptions<C = unknown> extends ContextOptions<C> {
  /** The units that are left upstream: a whole number of at least 0. */
  readonly remaining?: number | null | undefined
  /** The time in milliseconds for which upstream admits nothing. */
  readonly retryAfterMs?: number | null | undefined
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
  /** Milliseconds since the epoch, in place of the clock: for replays, simulations and tests. */
  readonly now?: number | null | undefined
}

/** The options of a `block`. */
export interface BlockOptions<C = unknown> extends ContextOptions<C> {
  /** The time in milliseconds for which every call is denied; 0 opens the limit. */
  readonly forMs: number
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
  /** Milliseconds since the epoch, in place of the clock: for replays, simulations and tests. */
  readonly now?: number | null | undefined
}

/** The instant of a decision. */
export interface TimeOptions {
  /** Milliseconds since the epoch, in place of the clock: for replays, simulations and tests. */
  readonly now?: number | null | undefined
}

/** The options of a decision of several checks. */
export interface DecisionOptions<C = unknown> extends TimeOptions, ContextOptions<C> {
  /** As for one actor: each check gets the same units, as many as all have room for. Their costs are the same then. */
  readonly atLeast?: number | null | undefined
}

/** The options of an `explain`. */
export interface ExplainOptions<C = unknown> extends ContextOptions<C> {
  /** Scales the limit: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
}

/** Options as they were read, each once. */
export interface Read {
  cost: number
  factor: number
  now: number | undefined
  maxWaitMs: number | undefined
  atLeast: number | undefined
  remaining: number | undefined
  retryAfterMs: number | undefined
  forMs: number | undefined
  signal: AbortSignal | undefined
  costs: readonly number[] | undefined
  context: unknown
}

type Name = keyof Read

/** The options that each kind of call takes. */
export const ON_CALL: readonly Name[] = ['cost', 'factor', 'now', 'context']
export const ON_LIMIT: readonly Name[] = [...ON_CALL, 'atLeast']
export const ON_OBSERVE: readonly Name[] = ['factor', 'now', 'remaining', 'retryAfterMs', 'context']
export const ON_BLOCK: readonly Name[] = ['factor', 'now', 'forMs', 'context']
export const ON_ACQUIRE: readonly Name[] = [...ON_CALL, 'maxWaitMs', 'signal']
export const ON_HOLD: readonly Name[] = ['cost', 'costs', 'factor', 'maxWaitMs', 'signal', 'context']
export const ON_DECISION: readonly Name[] = ['now', 'atLeast', 'context']
export const ON_CORRECTION: readonly Name[] = ['now']
export const ON_EXPLAIN: readonly Name[] = ['factor', 'context']
export const ON_CHECK: readonly Name[] = ['cost', 'factor']
export const ON_RESET: readonly Name[] = ['context']

/** The options of a call that gives none. */
export const DEFAULTS: Readonly<Read> = Object.freeze({
  cost: 1,
  factor: 1,
  now: undefined,
  maxWaitMs: undefined,
  atLeast: undefined,
  remaining: undefined,
  retryAfterMs: undefined,
  forMs: undefined,
  signal: undefined,
  costs: undefined,
  context: undefined,
})

/**
 * Reads options, each once; the engine checks their numbers. A misspelt name is refused, because its default would stay
 * in force. `key` is the limit's, for errors; `beside` are names that are read elsewhere.
 */
export function optionsFrom(given: unknown, takes: readonly Name[], key: string, beside: readonly string[] = []): Read {
  if (given === undefined) return DEFAULTS
  const options: Read = { ...DEFAULTS }
  for (const name of optionNames(given, 'options', takes, key)) {
    if (beside.includes(name)) continue
    const value = read(given as object, name, key)
    if (!takes.includes(name as Name)) throw noOption(key, name, 'this call', takes, value)
    if (value === undefined || (value === null && name !== 'context')) continue
    if (name === 'signal') options.signal = abortSignal(value, key)
    else if (name === 'context') options.context = value
    else if (name === 'costs') options.costs = numbers(value, key)
    else if (typeof value === 'number') options[name as Exclude<Name, 'signal' | 'costs' | 'context'>] = value
    else throw wrongType(key, name, 'must be a number', value)
  }
  return options
}

function numbers(value: unknown, key: string): readonly number[] {
  if (!Array.isArray(value)) throw wrongType(key, 'costs', 'must be an array of numbers', value)
  return Array.from(value, (cost: unknown) => {
    if (typeof cost === 'number') return cost
    throw wrongType(key, 'costs', 'must be an array of numbers', cost)
  })
}

function abortSignal(value: unknown, key: string): AbortSignal {
  if (value instanceof AbortSignal) return value
  throw wrongType(key, 'signal', 'must be an AbortSignal', value)
}
