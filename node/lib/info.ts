import { ANSWER_WIDTH, Answer, FAST_WIDTH, Out } from './buffer.js'
import type { Now } from './clock.js'
import type { Compiled } from './compiled.js'
import { type Asked, type HeaderKind, type HeaderOptions, type Headers, headersOf } from './headers.js'
import { type LimitInfoJson, type StubFields, stubFrom } from './stub.js'

/** Which limiter an answer comes from. */
export interface Store {
  /** The engine's number; 0 once it is closed. */
  handle: number
  /** Others share it, so that a call may have to wait. */
  readonly shared: boolean
  /** What tells the time in place of the system. */
  readonly clock?: Now | undefined
  /** Neither shared nor with a clock of its own, as nearly every one in memory. */
  readonly plain?: boolean
}

/** A check that has been read out of what the caller passed. */
export interface Part {
  readonly limit: Compiled
  readonly actor: unknown
  readonly cost: number
  readonly factor: number
  /** For a receipt: when it was charged, where that is another instant than its call's. */
  readonly chargedAt?: number
}

/** What an answer was about. */
export interface Receipt {
  readonly store: Store
  readonly parts: readonly Part[]
  /** In microseconds. */
  readonly chargedAt: number
}

type Numbers = Float64Array | Int32Array

function isNumbers(several: readonly LimitInfo[] | readonly number[]): several is readonly number[] {
  return typeof several[0] === 'number'
}

/**
 * The answer to a call: whether it may pass, and what is left. Durations are whole milliseconds, rounded up.
 *
 * @example
 * ```js
 * import { bucket, Limiter } from 'tidegate'
 *
 * const info = new Limiter().limitSync(bucket({ key: 'login', size: 2 }), '203.0.113.9')
 * assert.equal(info.blocked, false)
 * assert.equal(info.remaining, 1)
 * assert.deepEqual([info.resetMs, info.fullResetMs, info.fullResetSec], [0, 1000, 1])
 * ```
 */
export class LimitInfo {
  /** The call was denied. */
  declare readonly blocked: boolean
  /** Whole units that would still be admitted now, after this call; 2^53 - 1 where nothing is limited. */
  declare readonly remaining: number
  /** Denied: until this same call would be admitted. Admitted: until the next call of cost 1 would be; 0 = at once. */
  declare readonly resetMs: number
  /** {@link resetMs} in whole seconds, rounded up. */
  declare readonly resetSec: number
  /** Until the entry is empty again; 0 = it is. */
  declare readonly fullResetMs: number
  /** {@link fullResetMs} in whole seconds, rounded up. */
  declare readonly fullResetSec: number
  /** How long an `acquire` has to wait, or has waited, for its turn; else 0. */
  declare readonly waitMs: number
  /** Until {@link remaining} grows by one; 0 = it cannot grow. */
  declare readonly nextMs: number
  /** The key of the limit that decided. */
  declare readonly key: string
  /** The size of the limit that decided, scaled by the call's factor. */
  declare readonly quota: number
  /** How long a full entry of the limit that decided takes to drain. */
  declare readonly windowMs: number
  /** Which of {@link checks} decided: the blocked one with the largest reset, else the one with the least remaining. */
  declare readonly binding: number
  /** The store could not decide, and this is what was answered without it, as `onError` says. */
  declare readonly degraded: boolean
  /** The answers of several checks, or the small numbers that they are made of when somebody looks. */
  #several: readonly LimitInfo[] | readonly number[] | undefined
  /** What was asked, for whoever gives it back; references alone, for nearly nobody does. */
  readonly #store: Store | undefined
  readonly #limit: Compiled | readonly Compiled[] | undefined
  readonly #actor: unknown
  readonly #asked: Pick<Part, 'cost' | 'factor'> | readonly Part[] | undefined
  readonly #at: number
  #open: boolean

  /**
   * An answer for a test of what an app does with it; limiters make their own.
   *
   * @throws {@link LimitError} for a field that does not exist, or has the wrong type.
   *
   * @example
   * ```js
   * import { LimitInfo } from 'tidegate'
   *
   * const denied = new LimitInfo({ blocked: true, resetMs: 1500, key: 'login' })
   * assert.deepEqual([denied.allowed, denied.remaining, denied.resetSec], [false, 0, 2])
   * assert.equal(denied.headers()['Retry-After'], '2')
   * ```
   */
  constructor(fields?: LimitInfoFields)
  /** @internal */
  constructor(
    numbers: Numbers,
    from: number,
    at: number,
    key: string,
    binding: number,
    charges: boolean,
    store?: Store,
    asked?: Pick<Part, 'cost' | 'factor'> | readonly Part[],
    limit?: Compiled | readonly Compiled[],
    actor?: unknown,
    several?: readonly LimitInfo[] | readonly number[],
  )
  constructor(
    given: unknown,
    place?: number,
    at?: number,
    key?: string,
    binding?: number,
    charges?: boolean,
    store?: Store,
    asked?: Pick<Part, 'cost' | 'factor'> | readonly Part[],
    limit?: Compiled | readonly Compiled[],
    actor?: unknown,
    several?: readonly LimitInfo[] | readonly number[],
  ) {
    let numbers = given as Numbers
    let from = place as number
    if (place === undefined) {
      const made = stubFrom<LimitInfo>(given)
      numbers = made.numbers
      from = 0
      key = made.key
      binding = made.binding
      several = made.several
    }
    const fate = numbers[from + Answer.Fate] as number
    this.blocked = fate === 1 || fate === 3
    this.remaining = numbers[from + Answer.Remaining] as number
    this.resetMs = numbers[from + Answer.ResetMs] as number
    this.resetSec = numbers[from + Answer.ResetSec] as number
    this.fullResetMs = numbers[from + Answer.FullResetMs] as number
    this.fullResetSec = numbers[from + Answer.FullResetSec] as number
    this.waitMs = numbers[from + Answer.WaitMs] as number
    this.nextMs = numbers[from + Answer.NextMs] as number
    this.key = key as string
    this.quota = numbers[from + Answer.Quota] as number
    this.windowMs = numbers[from + Answer.WindowMs] as number
    this.binding = binding as number
    this.degraded = fate > 1
    this.#several = several
    this.#store = store
    this.#limit = limit
    this.#actor = actor
    this.#asked = asked
    this.#at = at ?? 0
    this.#open = charges === true
  }

  /** @internal What was asked of whom; `undefined` for a part of an answer. */
  static receipt(info: LimitInfo): Receipt | undefined {
    const store = info.#store
    const asked = info.#asked
    if (store === undefined || asked === undefined) return undefined
    const limits = info.#limit
    const { cost, factor } = asked as Part
    const part = (limit: Compiled): Part => ({ limit, actor: info.#actor, cost, factor })
    const known = limits !== undefined && !Array.isArray(asked)
    const parts = known ? [limits].flat().map(part) : (asked as readonly Part[])
    return { store, parts, chargedAt: info.#at }
  }

  /** @internal What was asked, as far as headers tell it. */
  static asked(info: LimitInfo): Asked {
    const parts = LimitInfo.receipt(info)?.parts ?? []
    // A legacy limit can have two answers.
    const costs = parts.length === info.checks.length ? parts.map(({ cost }) => cost) : []
    return { at: info.#at, costs }
  }

  /** @internal Says whether there is something left to give back, and what there will be. */
  static turn(info: LimitInfo, open: boolean): boolean {
    const before = info.#open
    info.#open = open
    return before
  }

  /** The call was admitted; the opposite of {@link blocked}. */
  get allowed(): boolean {
    return !this.blocked
  }

  /** The answer of each check, in order; of a single check, this answer itself. */
  get checks(): readonly LimitInfo[] {
    const several = this.#several
    // With `??` the compiler could not see that an answer which nobody keeps need not be made at all.
    if (several === undefined) return [this]
    return isNumbers(several) ? this.#unfold(several) : several
  }

  #unfold(several: readonly number[]): readonly LimitInfo[] {
    const numbers = Int32Array.from(several)
    const limits = (this.#limit ?? (this.#asked as readonly Part[]).map(({ limit }) => limit)) as readonly Compiled[]
    const each = limits.map(({ key }, index) => new LimitInfo(numbers, index * FAST_WIDTH, 0, key, 0, false))
    this.#several = each
    return each
  }

  /**
   * The HTTP headers that go with this answer, by name: the `X-RateLimit` family with `Retry-After` (`'x'`), the
   * fields of most other libraries (`'common'`), those of draft-ietf-httpapi-ratelimit-headers (`'ietf'`), `'x'` and
   * `'ietf'` (`'both'`), or none (`'none'`).
   *
   * @throws {@link LimitError} for a style or a draft that does not exist.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const info = new Limiter().limitSync(bucket({ key: 'login', size: 10 }), '203.0.113.9', { now: 0 })
   * assert.deepEqual(info.headers(), { 'X-RateLimit-Remaining': '9', 'X-RateLimit-Clear': '1' })
   * assert.deepEqual(info.headers('ietf'), { 'RateLimit-Policy': '"login";q=10;w=10', RateLimit: '"login";r=9;t=1' })
   * assert.equal(info.headers('ietf', { draft: 7 }).RateLimit, 'limit=10, remaining=9, reset=1')
   * ```
   */
  headers(kind: HeaderKind = 'x', options?: HeaderOptions): Headers {
    return kind === 'x' && options === undefined
      ? headersOf(this, kind, options)
      : headersOf(this, kind, options, LimitInfo.asked(this))
  }

  /**
   * The same as a plain object, for a log or a message; the answers of several checks stand in `checks`.
   *
   * @example
   * ```js
   * import { bucket, Limiter } from 'tidegate'
   *
   * const info = new Limiter().limitSync(bucket({ key: 'login', size: 10 }), 'ada', { now: 0 })
   * const { allowed, remaining, key } = JSON.parse(JSON.stringify(info))
   * assert.deepEqual([allowed, remaining, key], [true, 9, 'login'])
   * ```
   */
  toJSON(): LimitInfoJson {
    const { allowed, checks } = this
    const plain = { ...(this as LimitInfo), allowed }
    return checks.length > 1 ? { ...plain, checks: checks.map((check) => check.toJSON()) } : plain
  }
}

/** The fields of an answer that a test makes up; what is left out is as where nothing is limited. */
export type LimitInfoFields = StubFields<LimitInfo>

/** The answer that a call of these checks left in the call buffer, from `start` on. */
export function infoFrom(
  buffer: Float64Array,
  store: Store,
  parts: readonly Part[],
  charges: boolean,
  start = 0,
): LimitInfo {
  const keys = parts.map((part) => part.limit.key)
  const count = buffer[start + Out.Count] as number
  const several: LimitInfo[] = []
  for (let place = 1; count > 1 && place <= count; place++) {
    const at = start + Out.Answers + place * ANSWER_WIDTH
    several.push(new LimitInfo(buffer, at, 0, keys[buffer[at + Answer.Owner] as number] ?? '', 0, false))
  }
  const at = start + Out.Answers
  const key = keys[buffer[at + Answer.Owner] as number] ?? ''
  const each = count > 1 ? several : undefined
  const decidedAt = buffer[at + Answer.At] as number
  let asked = parts
  for (let place = 1; count > 1 && place <= count; place++) {
    const at = start + Out.Answers + place * ANSWER_WIDTH
    const chargedAt = buffer[at + Answer.At] as number
    if (chargedAt === decidedAt) continue
    const owner = buffer[at + Answer.Owner] as number
    asked = asked.map((part, index) => (index === owner ? { ...part, chargedAt } : part))
  }
  const binding = buffer[start + Out.Binding] as number
  return new LimitInfo(buffer, at, decidedAt, key, binding, charges, store, asked, undefined, undefined, each)
}
