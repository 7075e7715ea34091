import { Call } from './buffer.js'
import { type Answer, actorsOf, askedLater, bufferFor, type When } from './checks.js'
import type { Choice, WidenedDefinition } from './choice.js'
import type { Compiled } from './compiled.js'
import type { Definition } from './definitions.js'
import { answered } from './errors.js'
import { infoFrom, type LimitInfo, type Part, type Store } from './info.js'
import { native } from './native.js'
import { type ExplainOptions, ON_EXPLAIN, optionsFrom, type Read } from './options.js'
import { chosen, onlyOne } from './parts.js'

/** What one rule of a limit allows, counted in calls of cost 1; `null` is no bound. */
export interface Allowance {
  /** The most calls in a single instant, when nothing was charged before. */
  readonly burst: number | null
  /** No more calls than this per second, in the long run. */
  readonly perSecond: number | null
  /** The most calls in any span of a second, wherever it begins and whatever went before. */
  readonly mostInSecond: number | null
  /** The most calls in any span of a minute. */
  readonly mostInMinute: number | null
  /** The most calls in any span of an hour. */
  readonly mostInHour: number | null
  /** The most calls in any span of a day. */
  readonly mostInDay: number | null
  /** Until a full entry that is left alone is empty again, in milliseconds. */
  readonly windowMs: number
  /** What the numbers leave unsaid of this type. */
  readonly note: string | null
}

/** A legacy limit beside what it was translated to, at factor 1. */
export interface Translated {
  /** How the fields were understood. */
  readonly translation: 'bucket' | 'exact'
  /** Of the bucket that it became, how many units it holds; `null` where it became a token bucket. */
  readonly size: number | null
  /** How often that bucket drips, in milliseconds. */
  readonly dripRate: number | null
  /** The number of units that leave that bucket with each drip. */
  readonly dripSize: number | null
  /** The rate that the fields ask for. */
  readonly askedPerSecond: number
  /** The rate that is enforced. */
  readonly enforcedPerSecond: number
  /** How far the enforced rate is from the one asked for: 0.5 is half as much again, -0.5 half of it. */
  readonly deviation: number
  /** The least time between two calls that the fields ask for, in milliseconds. */
  readonly minInterval: number | null
  /** Whether every two calls are at least that far apart. */
  readonly minIntervalEnforced: boolean
}

/** The allowance of a definition, for an actor with some factor; as a string, the same in words. */
export interface Explanation {
  /** The key of the limit. */
  readonly key: string
  /** Its type in the wire form, or `legacy`. */
  readonly type: string
  /** What all of {@link allowances} are scaled by. */
  readonly factor: number
  /** What is allowed; where there are two, both hold at once; none is no limit. */
  readonly allowances: readonly Allowance[]
  /** What became of a legacy limit's fields. */
  readonly translated: Translated | null
  toString(): string
}

/** What a limiter would say to a call, and why; as a string, in words. */
export interface Standing {
  /** What a peek says. */
  readonly info: LimitInfo
  toString(): string
}

/** The fields, with a text that they are as a string. */
function said<T extends object>(fields: T, text: string): T {
  return Object.defineProperty(fields, 'toString', { value: () => text })
}

/**
 * What a definition allows, in numbers and in words.
 *
 * @throws {@link LimitError} for a definition or a factor that cannot be.
 *
 * @example
 * ```js
 * import { bucket, explain } from 'tidegate'
 *
 * const login = explain(bucket({ key: 'login', size: 10 }))
 * assert.deepEqual([login.allowances[0].burst, login.allowances[0].mostInMinute], [10, 70])
 * assert.match(String(login), /^"login" \(bucket\) admits 10 at once, then 1 per second/)
 * assert.equal(explain({ key: 'login', type: 'bucket', size: 10 }, { factor: 0.5 }).allowances[0].burst, 20)
 * ```
 */
export function explain<C, T extends string = never>(
  limit: Definition | WidenedDefinition<T> | Choice<C>,
  options?: ExplainOptions<NoInfer<C>>,
): Explanation {
  let asked: Read | undefined
  const context = (): unknown => {
    asked ??= optionsFrom(options, ON_EXPLAIN, '')
    return asked.context
  }
  const one = onlyOne(chosen(limit, context, true) as Compiled[])
  asked ??= optionsFrom(options, ON_EXPLAIN, one.key)
  const { json, text } = answered(native.explainLimit(one.handle, asked.factor))
  return said(JSON.parse(json) as Explanation, text)
}

/** Why these checks would be answered as they would. */
export function standing(store: Store, parts: readonly Part[], when: When): Answer<Standing> {
  const buffer = bufferFor(store, Call.Peek, parts, when)
  const read = (buffer: Float64Array, at: number, text: string): Standing =>
    said({ info: infoFrom(buffer, store, parts, false, at) }, text)
  if (store.shared) return askedLater(native.askWhy, buffer, parts, read)
  const text = answered(native.explainSeveral(buffer, actorsOf(parts)))
  return read(buffer, 0, text)
}
