/* The options that every room takes, read and checked once. */

import { knownOptions, NO_LIMITER, outOfRange, wrongType } from '../errors.js'
import { GATE_OPTIONS, type GateOptions } from '../http/gate.js'
import { listenersOf } from '../limiter/events.js'
import { Limiter } from '../limiter/limiter.js'
import type { Limits, SelectedLimits } from '../limits/documents.js'
import type { Later } from '../time/later.js'
import type { Charging, LimitsOfRequest, RoomLimits, RuleOptions } from './rules.js'

/** The options of every room; `Request` is the request, or the context, of its framework. */
export interface RoomOptions<Request, Outcome extends readonly unknown[] = [Request]>
  extends Omit<GateOptions, 'scope'>,
    RuleOptions<Request> {
  /**
   * A limiter, or the URL of a store; middlewares with the same URL share one limiter and its connections.
   * @defaultValue a limiter of its own, in the memory of this process
   */
  readonly limiter?: Limiter | string | URL
  /** The limits: one, several, as text, those of a document, or a function of the request. */
  readonly limits: RoomLimits<Request> | Limits | SelectedLimits | LimitsOfRequest<Request>
  /** True for requests that are not limited. */
  readonly skip?: ((request: Request) => Later<boolean>) | undefined
  /** Statuses, or a function: only these outcomes stay charged. @defaultValue all of them */
  readonly chargeOn?: ChargeOn<Outcome> | undefined
}

/** The outcomes that stay charged: statuses, or a function of what a framework passes with the response. */
export type ChargeOn<Outcome extends readonly unknown[]> = readonly number[] | ((...outcome: Outcome) => Later<boolean>)

/** The options of a route: those of its room in part, in place of the room's. */
export type RouteOptions<Options> = Partial<Omit<Options, 'limiter'>>

/** The options of a module whose routes may have limits of their own alone, with `global: false`. */
export type OptionalLimits<Options extends { readonly limits: unknown }> = Omit<Options, 'limits'> &
  Partial<Pick<Options, 'limits'>>

const GATE = GATE_OPTIONS.filter((name) => name !== 'scope')
const ROOM = ['limiter', 'limits', 'name', 'key', 'cost', 'factor', 'skip', 'shadow', 'candidate', 'chargeOn']

/** The options as an object of their own, each read once; a misspelt one is refused. */
export function roomOptions(given: unknown, framework: readonly string[]): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType('', 'options', 'must be an object with limits', given)
  }
  const options = knownOptions(given, [...ROOM, ...GATE, ...framework], 'a rate limit')
  const { name } = options
  if (name !== undefined && typeof name !== 'string') throw wrongType('', 'name', 'must be a string', name)
  if (name === '') throw outOfRange('', 'name', 'must not be empty', name)
  return options
}

/** Options, or limits that stand for them. */
export function routeOptions(given: unknown): unknown {
  const isOptions = typeof given === 'object' && given !== null && 'limits' in given
  return isOptions ? given : { limits: given }
}

/** An option that is a function, or perhaps one other word. */
export function functionOption<T>(options: Readonly<Record<string, unknown>>, name: string, other?: string): T {
  const value = options[name]
  if (value !== undefined && typeof value !== 'function' && (other === undefined || value !== other)) {
    throw wrongType('', name, `must be a function${other === undefined ? '' : ` or '${other}'`}`, value)
  }
  return value as T
}

/** The outcomes that stay charged as a function; nothing where all of them do. */
export function chargeOption(given: unknown, statusOf: (...outcome: never[]) => number): Charging | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'function') return given as Charging
  if (!Array.isArray(given)) throw wrongType('', 'chargeOn', 'must be a list of statuses or a function', given)
  // It would charge no outcome at all.
  if (given.length === 0) throw outOfRange('', 'chargeOn', 'must hold at least one status', 'none')
  for (const status of given) {
    if (!(Number.isInteger(status) && status >= 100 && status < 600)) {
      throw outOfRange('', 'chargeOn', 'must be statuses from 100 to 599', status)
    }
  }
  const statuses: ReadonlySet<number> = new Set(given)
  return (...outcome) => statuses.has(statusOf(...outcome))
}

export function gateOptions(options: Readonly<Record<string, unknown>>, limiter: Limiter): GateOptions {
  // Each mistake is reported once for a limiter; all limiters in memory count as one.
  const scope = isShared(limiter) ? `store ${listenersOf(limiter)?.number}` : 'memory'
  return { ...Object.fromEntries(GATE.map((name) => [name, options[name]])), scope }
}

/** Limiters by the URL of their store, so that rooms share their connections for as long as nobody closes them. */
const byUrl = new Map<string, Limiter>()

export function limiterOption(given: unknown): Limiter {
  if (given === undefined) return new Limiter()
  if (given instanceof Limiter) return given
  if (typeof given !== 'string' && !(given instanceof URL)) throw noLimiter(given)
  const url = String(given)
  const open = byUrl.get(url)
  const limiter = open === undefined || listenersOf(open)?.isClosed ? new Limiter(url) : open
  if (!url.startsWith('memory:')) byUrl.set(url, limiter)
  return limiter
}

export function noLimiter(given: unknown): Error {
  // Its class is of another copy, which cannot be recognised in any other way.
  const isForeign = (given as object | null | undefined)?.constructor?.name === Limiter.name
  const copy = isForeign ? ', of this copy of tidegate, which was loaded twice' : ''
  return wrongType('', 'limiter', NO_LIMITER + copy, given)
}

/** True for a limiter that counts in this process's memory alone. */
export const countsAlone = (limiter: Limiter): boolean => !isShared(limiter) && limiter.stats().processes === 0

/** True for a limiter whose answers have to be waited for. */
export const isShared = (limiter: Limiter): boolean => listenersOf(limiter)?.waits === true
