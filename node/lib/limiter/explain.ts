import { answered } from '../errors.js'
import type { Choice, WidenedDefinition } from '../limits/choice.js'
import type { Compiled } from '../limits/definition-cache.js'
import type { Definition } from '../limits/definitions.js'
import { Call } from '../native/buffer.js'
import { native } from '../native/native.js'
import { infoFrom, type LimitInfo, type Part, type Store } from '../results/info.js'
import type { Later } from '../time/later.js'
import { type ExplainOptions, ON_EXPLAIN, optionsFrom, type Read } from './call-options.js'
import { actorsOf, askedLater, bufferFor, type When } from './checks.js'
import { chosen, onlyOne } from './parts.js'

/** The allowance of one rule of a limit, counted in calls of cost 1; `null` is no bound. */
export interface Allowance {
  /** The most calls in a single instant, when nothing was charged before. */
  readonly burst: number | null
  /** No more calls than this per second, in the long run. */
  readonly perSecond: number | null
  /** The most calls in any span of a second. */
  readonly mostInSecond: number | null
  /** The most calls in any span of a minute. */
  readonly mostInMinute: number | null
  /** The most calls in any span of an hour. */
  readonly mostInHour: number | null
  /** The most calls in any span of a day. */
  readonly mostInDay: number | null
  /** The time until a full entry is empty again, in milliseconds. */
  readonly windowMs: number
  /** A note on this type that the numbers do not show. */
  readonly note: string | null
}

/** The translation of a legacy limit, at factor 1. */
export interface LegacyTranslation {
  /** The kind of translation. */
  readonly translation: 'bucket' | 'exact'
  /** The size of the bucket that it became; `null` where it became a token bucket. */
  readonly size: number | null
  /** The time between two drips of that bucket, in milliseconds. */
  readonly dripRate: number | null
  /** The number of units that leave that bucket with each drip. */
  readonly dripSize: number | null
  /** The rate that the fields ask for. */
  readonly askedPerSecond: number
  /** The rate that is enforced. */
  readonly enforcedPerSecond: number
  /** The deviation of the enforced rate from the one asked for: 0.5 is half as much again, -0.5 half of it. */
  readonly deviation: number
  /** The least time between two calls that the fields ask for, in milliseconds. */
  readonly minInterval: number | null
  /** True if every two calls are at least that far apart. */
  readonly minIntervalEnforced: boolean
}

/** The allowance of a definition, for an actor with some factor; as a string, the same in words. */
export interface Explanation {
  /** The key of the limit. */
  readonly key: string
  /** Its type in the wire form, or `legacy`. */
  readonly type: string
  /** The factor that scales all of {@link allowances}. */
  readonly factor: number
  /** The allowances; where there are two, both hold at once; none is no limit. */
  readonly allowances: readonly Allowance[]
  /** The translation of a legacy limit's fields. */
  readonly translated: LegacyTranslation | null
  /** The block after a refusal, in the fields of the definition. */
  readonly block?: { readonly blockFor: number; readonly blockGrowth?: number; readonly blockMax?: number }
  toString(): string
}

/** The answer that a call would get, and the reasons as a string. */
export interface CallExplanation {
  /** The answer of a peek. */
  readonly info: LimitInfo
  toString(): string
}

/** An object of these fields that is this text as a string. */
function said<T extends object>(fields: T, text: string): T {
  return Object.defineProperty(fields, 'toString', { value: () => text })
}

/**
 * The allowance of a definition, in numbers and in words.
 *
 * @throws {@link LimitError} for a definition or a factor that is out of bounds.
 *
 * @example
 * ```js
 * import { bucket, explain } from 'tidegate'
 *
 * const login = explain(bucket({ key: 'login', size: 10 }))
 * assert.deepEqual([login.allowances[0].burst, login.allowances[0].mostInMinute], [10, 69])
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

/** Explains the answer that these checks would get. */
export function explainedCall(store: Store, parts: readonly Part[], when: When): Later<CallExplanation> {
  const buffer = bufferFor(store, Call.Peek, parts, when)
  const read = (buffer: Float64Array, at: number, text: string): CallExplanation =>
    said({ info: infoFrom(buffer, store, parts, false, at) }, text)
  if (store.shared) return askedLater(native.askWhy, buffer, parts, read)
  const text = answered(native.explainSeveral(buffer, actorsOf(parts)))
  return read(buffer, 0, text)
}
