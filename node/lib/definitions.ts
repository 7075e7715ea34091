/** What is common to every definition. */
interface Named {
  /** Names what is limited: printable ASCII, at most 256 characters. Limits with the same key share their entries. */
  readonly key: string
}

/** A leaky bucket as a meter: up to `size` at once, and `dripSize` more every `dripRate`. */
export interface BucketDefinition extends Named {
  readonly type: 'bucket'
  /** How many units fit; at least 1. */
  readonly size: number
  /** Milliseconds from one drip to the next; at least 1. @defaultValue 1000 */
  readonly dripRate?: number | undefined
  /** Units that leave with each drip; at least 1. @defaultValue 1 */
  readonly dripSize?: number | undefined
  /** What a factor scales. @defaultValue 'size' */
  readonly factorScales?: FactorScales | undefined
}

/** A token bucket, decided as GCRA does: `count` per `period` at an even pace. */
export interface TokenBucketDefinition extends Named {
  readonly type: 'token-bucket'
  /** Tokens that come back in a period; at least 1. */
  readonly count: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** Tokens that a full bucket holds; at least 1. @defaultValue `count` */
  readonly burst?: number | undefined
}

/** At most `max` in each window of a `period`. */
export interface FixedWindowDefinition extends Named {
  readonly type: 'fixed-window'
  /** Units in a window; at least 1. */
  readonly max: number
  /** Milliseconds, above 0. */
  readonly period: number
  /** Windows start at multiples of the period since the epoch, or with an actor's first request. @defaultValue 'epoch' */
  readonly anchor?: 'epoch' | 'first-request' | undefined
}

/** The `{ max, duration, minInterval }` form. Without any of them it limits nothing. */
export interface LegacyDefinition extends Named {
  readonly type?: undefined
  /** Units in a duration; needs `duration`. */
  readonly max?: number | undefined
  /** Milliseconds; needs `max`. */
  readonly duration?: number | undefined
  /** Milliseconds between two units. */
  readonly minInterval?: number | undefined
  /** What a factor scales. @defaultValue 'size' */
  readonly factorScales?: FactorScales | undefined
  /** One bucket that comes close, or exactly what the fields say. @defaultValue 'bucket' */
  readonly translation?: 'bucket' | 'exact' | undefined
}

/** A factor scales the size of a bucket alone, or how fast it drains as well. */
export type FactorScales = 'size' | 'size-and-rate'

/** A definition in the wire form, which is the same in JSON, Python and Rust. Durations are milliseconds. */
export type Definition = BucketDefinition | TokenBucketDefinition | FixedWindowDefinition | LegacyDefinition
