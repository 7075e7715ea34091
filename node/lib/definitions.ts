/** What is common to every definition. */
interface Named {
  /** Names what is limited: any text up to 64 KiB. Limits with the same key share their entries. */
  readonly key: string
}

/** A leaky bucket as a meter: up to `size` at once, and `dripSize` more every `dripRate`. */
export interface BucketDefinition extends Named {
  readonly type: 'bucket'
  /** How many units fit; at least 1. */
  readonly size: number
  /** Milliseconds from one drip to the next; at least 1. @defaultValue 1000 */
  readonly dripRate?: number | null | undefined
  /** Units that leave with each drip; at least 1. @defaultValue 1 */
  readonly dripSize?: number | null | undefined
  /** What a factor scales. @defaultValue 'size' */
  readonly factorScales?: FactorScales | null | undefined
}

/** A token bucket, decided as GCRA does: `count` per `period` at an even pace. */
export interface TokenBucketDefinition extends Named {
  readonly type: 'token-bucket'
  /** Tokens that come back in a period; at least 1. */
  readonly count: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** Tokens that a full bucket holds; at least 1. @defaultValue `count` */
  readonly burst?: number | null | undefined
}

/** At most `max` in each window of a `period`. */
export interface FixedWindowDefinition extends Named {
  readonly type: 'fixed-window'
  /** Units in a window; at least 1. */
  readonly max: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** Windows start at multiples of the period since the epoch, or with an actor's first request. @defaultValue 'epoch' */
  readonly anchor?: 'epoch' | 'first-request' | null | undefined
}

/** At most `max` in any `period`, counted in slots. */
export interface SlidingWindowDefinition extends Named {
  readonly type: 'sliding-window'
  /** Units in a period; at least 1. */
  readonly max: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** How long a slot is, in milliseconds: above 0, at most the period. */
  readonly resolution: number
  /** Charges denied calls as well, so that only a pause helps. @defaultValue false */
  readonly countBlocked?: boolean | null | undefined
}

/** About `max` in any `period`, from the counts of two windows. */
export interface SlidingCounterDefinition extends Named {
  readonly type: 'sliding-counter'
  /** About how many units in a period; at least 1. */
  readonly max: number
  /** Milliseconds, above 0. */
  readonly period: number
}

/** At most `max` in any `period`, exactly. */
export interface SlidingLogDefinition extends Named {
  readonly type: 'sliding-log'
  /** Units in any span of a period; at least 1. */
  readonly max: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** The least time between two calls, in milliseconds. @defaultValue 0 */
  readonly minInterval?: number | null | undefined
  /** Charges denied calls as well, so that only a pause helps. @defaultValue false */
  readonly countBlocked?: boolean | null | undefined
}

/** A count of at most `max` that decays. */
export interface DecayDefinition extends Named {
  readonly type: 'decay'
  /** How high the count may be; at least 1. */
  readonly max: number
  /** What the count is divided by; above 1. */
  readonly decayFactor: number
  /** How often it is divided, in milliseconds; above 0. */
  readonly resolution: number
  /** Charges denied calls as well, so that only a pause helps. @defaultValue false */
  readonly countBlocked?: boolean | null | undefined
}

/** `rate` permits per second at an even pace. */
export interface SmoothDefinition extends Named {
  readonly type: 'smooth'
  /** Permits per second, above 0. */
  readonly rate: number
  /** How long an idle limiter without a warm-up saves permits up, in milliseconds. @defaultValue 1000 */
  readonly maxBurst?: number | null | undefined
  /** How long a cold limiter takes to reach its rate, in milliseconds. @defaultValue 0 */
  readonly warmup?: number | null | undefined
  /** How much slower than its rate a cold limiter starts; at least 1. @defaultValue 3 */
  readonly coldFactor?: number | null | undefined
}

/** The `{ max, duration, minInterval }` form. Without any of them it limits nothing. */
export interface LegacyDefinition extends Named {
  readonly type?: undefined
  /** Units in a duration; needs `duration`. */
  readonly max?: number | null | undefined
  /** Milliseconds; needs `max`. */
  readonly duration?: number | null | undefined
  /** Milliseconds between two units. */
  readonly minInterval?: number | null | undefined
  /** What a factor scales. @defaultValue 'size' */
  readonly factorScales?: FactorScales | null | undefined
  /** One bucket that comes close, or exactly what the fields say. @defaultValue 'bucket' */
  readonly translation?: 'bucket' | 'exact' | null | undefined
}

/** A factor scales the size of a bucket alone, or how fast it drains as well. */
export type FactorScales = 'size' | 'size-and-rate'

/**
 * A definition whose type is known to be a string and no more, as in an imported JSON file; it is checked when it is
 * used. One whose type is known has to have the fields of that type.
 */
export type WidenedDefinition<T extends string> = Named & { readonly type: T & Widened<T> } & WidenedFields

/** Any string will do, where nothing more is known. */
type Widened<T extends string> = string extends T ? unknown : never

type WidenedFields = {
  readonly [Name in
    | 'size'
    | 'dripRate'
    | 'dripSize'
    | 'count'
    | 'period'
    | 'burst'
    | 'max'
    | 'resolution'
    | 'minInterval'
    | 'decayFactor'
    | 'rate'
    | 'maxBurst'
    | 'warmup'
    | 'coldFactor']?: number | null | undefined
} & {
  readonly factorScales?: string | null | undefined
  readonly anchor?: string | null | undefined
  readonly countBlocked?: boolean | null | undefined
}

/**
 * A function of the caller's own context, such as a request or a plan, that says what is to be enforced; it may be
 * asynchronous where the call answers with a promise.
 */
export type Choice<C> = (context: C) => Chosen | Promise<Chosen>

/** What a choice may be. */
export type Chosen = Definition | readonly Definition[]

/** One limit, or several that are decided together: either every one is charged or none. */
export type AnyLimit<C = unknown, T extends string = never> =
  | Definition
  | WidenedDefinition<T>
  | Choice<C>
  | readonly (Definition | WidenedDefinition<T> | Choice<C>)[]

/** A definition in the wire form, which is the same in JSON, Python and Rust. Durations are milliseconds. */
export type Definition =
  | BucketDefinition
  | TokenBucketDefinition
  | FixedWindowDefinition
  | SlidingWindowDefinition
  | SlidingCounterDefinition
  | SlidingLogDefinition
  | DecayDefinition
  | SmoothDefinition
  | LegacyDefinition
