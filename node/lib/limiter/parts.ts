/* The arguments of a call, read: limits, functions that choose them, and checks. */

import { outOfRange, read, wrongType } from '../errors.js'
import type { Choice, WidenedDefinition } from '../limits/choice.js'
import { type Compiled, compiled } from '../limits/definition-cache.js'
import type { Definition } from '../limits/definitions.js'
import type { Part } from '../results/info.js'
import { after, all, isPromise, type Later } from '../time/later.js'
import { DEFAULTS, ON_CHECK, optionsFrom, type Read } from './call-options.js'

/** A limit and an actor, with the cost of the call: one part of a decision of several. */
export interface Check<C = unknown, T extends string = never> {
  /** A definition, checked or in the wire form, or a function of a context. */
  readonly limit: Definition | WidenedDefinition<T> | Choice<C>
  /** The actor: a user id, an address, an API key; any string of up to 64 KiB. */
  readonly actor: string
  /** The units that the call takes: a whole number of at least 0. @defaultValue 1 */
  readonly cost?: number | null | undefined
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | null | undefined
}

/** The checks of a call, with the options that hold for all of them. */
export interface CallArguments {
  readonly parts: readonly Part[]
  readonly options: Read
}

/** The options that a call takes, and true if its limits must be chosen at once. */
export interface Reading {
  readonly takes: readonly (keyof Read)[]
  readonly atOnce: boolean
}

/** @internal True in a check that is decided beside the others of its call and never enforced; for rooms alone. */
export const OBSERVED = Symbol('observed')

/** @internal A check that may be observed. */
export type ObservableCheck = Check & { readonly [OBSERVED]?: true }

/** The limits that stand for one: itself, or what the caller's function makes of a context. */
export function chosen(limit: unknown, context: () => unknown, atOnce: boolean): Later<Compiled[]> {
  if (typeof limit !== 'function') return [compiled(limit)]
  const choice: unknown = limit(context())
  if (!isPromise(choice)) return ofChoice(choice)
  const later = Promise.resolve(choice)
  if (!atOnce) return later.then(ofChoice)
  // Its rejection is of no interest any more.
  later.catch(() => {})
  const problem = 'must be chosen at once here: use the method that returns a promise'
  throw wrongType('', 'limit', problem, 'a function that returns a promise')
}

const ofChoice = (choice: unknown): Compiled[] =>
  Array.isArray(choice) ? Array.from(choice, compiled) : [compiled(choice)]

/** The items of the lists that all of these give in one, once all of them are there. */
const flat = <T, U>(items: readonly T[], give: (item: T) => Later<U[]>): Later<U[]> =>
  after(all(items, give), (lists) => lists.flat())

/** One limit or several, all for the same actor and with the same options. */
export function partsOf(
  limit: unknown,
  actor: unknown,
  given: unknown,
  { takes, atOnce }: Reading,
): Later<CallArguments> {
  if (!Array.isArray(limit) && typeof limit !== 'function') {
    const known = compiled(limit)
    const options = given === undefined ? DEFAULTS : optionsFrom(given, takes, known.key)
    return { parts: [{ limit: known, actor, cost: options.cost, factor: options.factor }], options }
  }
  const options = optionsOnce(given, takes)
  const each = Array.from(Array.isArray(limit) ? limit : [limit])
  const limits = flat(each, (one) => chosen(one, () => options('').context, atOnce))
  return after(limits, (limits) => {
    const readOptions = options(limits[0]?.key ?? '')
    const { cost, factor } = readOptions
    return { parts: limits.map((limit): Part => ({ limit, actor, cost, factor })), options: readOptions }
  })
}

/** The checks of a `limitAll`, each property read once; a limit may turn out to be several. */
export function partsOfChecks(checks: unknown, given: unknown, { takes, atOnce }: Reading): Later<CallArguments> {
  if (!Array.isArray(checks)) throw wrongType('', 'checks', 'must be an array', checks)
  const options = optionsOnce(given, takes)
  const parts = flat(Array.from(checks), (check: unknown) => partsOfCheck(check, options, atOnce))
  return after(parts, (parts) => ({ parts, options: options(parts[0]?.limit.key ?? '') }))
}

function partsOfCheck(check: unknown, options: (key: string) => Read, atOnce: boolean): Later<Part[]> {
  if (typeof check !== 'object' || check === null) throw wrongType('', 'check', 'must be an object', check)
  return after(
    chosen(read(check, 'limit', ''), () => options('').context, atOnce),
    (limits) => {
      const key = limits[0]?.key ?? ''
      const { cost, factor } = optionsFrom(check, ON_CHECK, key, ['limit', 'actor'])
      const actor = read(check, 'actor', key)
      const observed = isObserved(check)
      return limits.map((limit) =>
        observed ? { limit, actor, cost, factor, observed } : { limit, actor, cost, factor },
      )
    },
  )
}

/** The parts that these checks are where there is nothing unusual about any, as nearly always. */
export function plainParts(checks: unknown): readonly Part[] | undefined {
  if (!Array.isArray(checks)) return undefined
  const { length } = checks
  // An empty list would grow to a length of 17 with its first item.
  const parts = new Array<Part>(length)
  for (let index = 0; index < length; index++) {
    const part = plainPart(checks[index])
    if (part === undefined) return undefined
    parts[index] = part
  }
  return parts
}

/** The part that a check is with one limit and nothing unusual about it, as nearly every one. */
function plainPart(check: unknown): Part | undefined {
  if (typeof check !== 'object' || check === null) return undefined
  try {
    for (const name in check) {
      if (name !== 'limit' && name !== 'actor' && name !== 'cost' && name !== 'factor') return undefined
    }
    const { limit, actor, cost = 1, factor = 1 } = check as Record<string, unknown>
    if (typeof limit !== 'object' || typeof cost !== 'number' || typeof factor !== 'number') return undefined
    if (isObserved(check)) return { limit: compiled(limit), actor, cost, factor, observed: true }
    return { limit: compiled(limit), actor, cost, factor }
  } catch {
    // The reader of single fields reports the error.
    return undefined
  }
}

const isObserved = (check: { readonly [OBSERVED]?: unknown }): boolean => check[OBSERVED] === true

/** Reads options once, when they are needed first. */
function optionsOnce(given: unknown, takes: readonly (keyof Read)[]): (key: string) => Read {
  let readOptions: Read | undefined
  return (key) => {
    readOptions ??= optionsFrom(given, takes, key)
    return readOptions
  }
}

/** The only limit that these are. */
export function onlyOne(limits: readonly Compiled[]): Compiled {
  const [one, ...more] = limits
  if (one === undefined || more.length > 0) throw outOfRange('', 'definition', 'must be one', `${limits.length} limits`)
  return one
}
