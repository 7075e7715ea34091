import type { Compiled } from './compiled.js'
import { ANSWER_WIDTH, Answer, Out } from './frame.js'
import { type HeaderKind, type HeaderOptions, type Headers, rateLimitHeaders } from './headers.js'

/** Which limiter an answer comes from. */
export interface Store {
  /** The engine's number; 0 once it is closed. */
  handle: number
  /** Others share it, so that a call may have to wait. */
  readonly shared: boolean
}

/** A check that has been read out of what the caller passed. */
export interface Part {
  readonly limit: Compiled
  readonly actor: unknown
  readonly cost: number
  readonly factor: number
}

/** What an answer was about. */
export interface Receipt {
  readonly store: Store
  readonly parts: readonly Part[]
  /** In microseconds. */
  readonly chargedAt: number
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
  readonly #several: readonly LimitInfo[] | undefined
  /** What was asked, for whoever gives it back; references alone, for nearly nobody does. */
  readonly #store: Store | undefined
  readonly #limit: Compiled | undefined
  readonly #actor: unknown
  readonly #asked: Pick<Part, 'cost' | 'factor'> | readonly Part[] | undefined
  readonly #at: number
  #open: boolean

  /** @internal */
  constructor(
    numbers: Float64Array | Int32Array,
    from: number,
    at: number,
    key: string,
    binding: number,
    charges: boolean,
    store?: Store,
    asked?: Pick<Part, 'cost' | 'factor'> | readonly Part[],
    limit?: Compiled,
    actor?: unknown,
    several?: readonly LimitInfo[],
  ) {
    const fate = numbers[from + Answer.Fate] as number
    this.blocked = fate === 1 || fate === 3
    this.remaining = numbers[from + Answer.Remaining] as number
    this.resetMs = numbers[from + Answer.ResetMs] as number
    this.resetSec = numbers[from + Answer.ResetSec] as number
    this.fullResetMs = numbers[from + Answer.FullResetMs] as number
    this.fullResetSec = numbers[from + Answer.FullResetSec] as number
    this.waitMs = numbers[from + Answer.WaitMs] as number
    this.nextMs = numbers[from + Answer.NextMs] as number
    this.key = key
    this.quota = numbers[from + Answer.Quota] as number
    this.windowMs = numbers[from + Answer.WindowMs] as number
    this.binding = binding
    this.degraded = fate > 1
    this.#several = several
    this.#store = store
    this.#limit = limit
    this.#actor = actor
    this.#asked = asked
    this.#at = at
    this.#open = charges
  }

  /** @internal What was asked of whom; `undefined` for a part of an answer. */
  static receipt(info: LimitInfo): Receipt | undefined {
    const store = info.#store
    const asked = info.#asked
    if (store === undefined || asked === undefined) return undefined
    const { cost, factor } = asked as Part
    const parts = info.#limit ? [{ limit: info.#limit, actor: info.#actor, cost, factor }] : (asked as readonly Part[])
    return { store, parts, chargedAt: info.#at }
  }

  /** @internal Says whether there is something left to give back, and what there will be. */
  static turn(info: LimitInfo, open: boolean): boolean {
    const before = info.#open
    info.#open = open
    return before
  }

  /** The answer of each check, in order; of a single check, this answer itself. */
  get checks(): readonly LimitInfo[] {
    // With `??` the compiler could not see that an answer which nobody keeps need not be made at all.
    return this.#several === undefined ? [this] : this.#several
  }

  /**
   * The HTTP headers that go with this answer, by name: the `X-RateLimit` family with `Retry-After` (`'x'`), the
   * fields of draft-ietf-httpapi-ratelimit-headers (`'ietf'`), or both.
   *
   * @throws {@link LimitError} for a kind or a draft that does not exist.
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
    return rateLimitHeaders(this, kind, options)
  }
}

/** The answer that a call of these checks left in the frame, from `start` on. */
export function infoFrom(
  frame: Float64Array,
  store: Store,
  parts: readonly Part[],
  charges: boolean,
  start = 0,
): LimitInfo {
  const keys = parts.map((part) => part.limit.key)
  const count = frame[start + Out.Count] as number
  const several: LimitInfo[] = []
  for (let place = 1; count > 1 && place <= count; place++) {
    const at = start + Out.Answers + place * ANSWER_WIDTH
    several.push(new LimitInfo(frame, at, 0, keys[frame[at + Answer.Owner] as number] ?? '', 0, false))
  }
  const at = start + Out.Answers
  const key = keys[frame[at + Answer.Owner] as number] ?? ''
  const each = count > 1 ? several : undefined
  const decidedAt = frame[at + Answer.At] as number
  const binding = frame[start + Out.Binding] as number
  return new LimitInfo(frame, at, decidedAt, key, binding, charges, store, parts, undefined, undefined, each)
}
