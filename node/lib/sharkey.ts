/**
 * The rate limiter service of a Sharkey- or Misskey-style server.
 *
 * @packageDocumentation
 */

import { knownOptions, outOfRange, wrongType } from './errors.js'
import { Limiter } from './limiter/limiter.js'
import type { BucketDefinition, Definition, LegacyDefinition } from './limits/definitions.js'
import { LimitInfo } from './results/info.js'
import { type Reply, sendRateLimitHeaders as send } from './results/send-headers.js'
import { noLimiter } from './room/options.js'
import { isOff } from './room/switch.js'
import { isPromise, type Later } from './time/later.js'

export { LimitInfo } from './results/info.js'
export type { Reply } from './results/send-headers.js'

/** A bucket, as endpoints define it; a Sharkey node reads the same fields. */
export type BucketRateLimit = Omit<BucketDefinition, 'key' | 'type'> & { readonly type?: 'bucket' | undefined }

/** `max` calls in a `duration`, or one per `minInterval`: the older form. */
export type LegacyRateLimit = Omit<LegacyDefinition, 'key'>

/** A limit of an endpoint. */
export type RateLimit = BucketRateLimit | LegacyRateLimit

/** A limit with the name that its entries have. */
export type Keyed<T> = T & { readonly key: string }

/** A user, known by an id. */
export interface User {
  readonly id: string
}

/** The options of the service. */
export interface RateLimiterServiceOptions<U extends User = User> {
  /** A limiter, or the URL of a store. @defaultValue a limiter of its own, in the memory of this process */
  readonly limiter?: Limiter | string | URL
  /** The layout of keys; `'sharkey'` shares them with live nodes. Only with a URL. @defaultValue 'own' */
  readonly layout?: 'own' | 'sharkey' | undefined
  /** The prefix of all keys; for live nodes that is their host. Only with a URL. */
  readonly namespace?: string | undefined
  /**
   * The factor of a user, for example by roles: 0.5 = twice the allowance, 2 = half, 0 = no limit. For an address, the
   * user is `null`.
   * @defaultValue 1
   */
  readonly factor?: ((user: U | null) => Later<number>) | undefined
  /** The time in milliseconds for which a factor is kept; with 0 every call looks it up. @defaultValue 60_000 */
  readonly factorCacheMs?: number | undefined
  /** Admits every call. @defaultValue false */
  readonly disabled?: boolean | undefined
}

const OPTIONS = ['limiter', 'layout', 'namespace', 'factor', 'factorCacheMs', 'disabled']
const FACTOR_CACHE_MS = 60_000
const MOST_FACTORS = 10_000
/** The name of the factor that addresses have, which is no user's id. */
const ADDRESSES = null

/**
 * A replacement for Sharkey's `SkRateLimiterService`: `limit(limit, actorOrUser)` and, as in its earlier versions,
 * `limit(limit, actor, factor)` take the limits of endpoints as they are, and its answer has the same fields.
 *
 * @example
 * ```js
 * import { RateLimiterService } from 'tidegate/sharkey'
 *
 * const service = new RateLimiterService({ factor: (user) => (user?.isAdmin ? 0 : 1) })
 * const limit = { key: 'notes/create', duration: 3_600_000, max: 300 }
 * assert.equal((await service.limit(limit, { id: '9abc' })).remaining, 299)
 * assert.equal((await service.limit(limit, '203.0.113.9')).remaining, 299)
 * assert.equal((await service.limit(limit, { id: '9root', isAdmin: true })).remaining, Number.MAX_SAFE_INTEGER)
 * ```
 */
export class RateLimiterService<U extends User = User> {
  /** The limiter that decides. */
  readonly limiter: Limiter
  readonly #owned: boolean
  readonly #disabled: boolean
  readonly #factor: ((user: U | null) => Later<number>) | undefined
  readonly #factorCacheMs: number
  readonly #factors = new Map<string | null, { readonly factor: Later<number>; readonly until: number }>()

  /** @throws {@link LimitError} for an option that does not exist, or a value that it does not take. */
  constructor(options: RateLimiterServiceOptions<U> = {}) {
    const { limiter, layout, namespace, factor, factorCacheMs, disabled } = optionsOf<U>(options)
    this.#owned = !(limiter instanceof Limiter)
    this.limiter = limiterOf(limiter, { layout, namespace })
    this.#factor = factor
    this.#factorCacheMs = factorCacheMs ?? FACTOR_CACHE_MS
    this.#disabled = disabled ?? false
  }

  /**
   * Charges a call of this actor, an address or a user, if it fits. The service looks up the factor of both, unless it
   * is given, as nodes of some versions do.
   *
   * @throws {@link LimitError} for a limit, an actor or a factor that is out of bounds.
   */
  async limit(limit: Keyed<RateLimit>, actorOrUser: string | U, given?: number): Promise<LimitInfo> {
    const definition = definitionOf(limit)
    if (this.#disabled || isOff()) return new LimitInfo({ key: limit.key })
    const user = typeof actorOrUser === 'string' ? null : actorOrUser
    if (typeof actorOrUser !== 'string' && typeof actorOrUser?.id !== 'string') {
      throw wrongType(limit.key, 'actorOrUser', 'must be a text or a user with an id', actorOrUser)
    }
    if (given !== undefined && typeof given !== 'number') {
      throw wrongType(limit.key, 'factor', 'must be a number', given)
    }
    const looked = given ?? this.#factorOf(user)
    const factor = isPromise(looked) ? await looked : looked
    return this.limiter.limit(definition, user === null ? (actorOrUser as string) : user.id, { factor })
  }

  /** Forgets the factor of a user, with `null` that of addresses, or all of them, as after a change of roles. */
  forgetFactors(user?: string | User | null): void {
    if (user === undefined) this.#factors.clear()
    else this.#factors.delete(typeof user === 'string' ? user : (user?.id ?? ADDRESSES))
  }

  /** Closes the limiter, unless it was given as one. */
  async close(): Promise<void> {
    if (this.#owned) await this.limiter.close()
  }

  /** The factor of a user or, without one, of addresses; calls at the same time wait for one lookup. */
  #factorOf(user: U | null): Later<number> {
    if (this.#factor === undefined) return 1
    if (this.#factorCacheMs === 0) return this.#factor(user)
    const now = performance.now()
    const id = user?.id ?? ADDRESSES
    const known = this.#factors.get(id)
    if (known !== undefined && known.until > now) return known.factor
    const factor = this.#factor(user)
    const entry = { factor, until: now + this.#factorCacheMs }
    this.#factors.delete(id)
    if (this.#factors.size >= MOST_FACTORS) this.#factors.delete(this.#factors.keys().next().value as string | null)
    this.#factors.set(id, entry)
    // A lookup that failed, or found what is no factor, is tried again.
    const forget = (): void => {
      if (this.#factors.get(id) === entry) this.#factors.delete(id)
    }
    if (isPromise(factor)) {
      factor.then((factor) => {
        if (!isFactor(factor)) forget()
      }, forget)
    } else if (!isFactor(factor)) {
      forget()
    }
    return factor
  }
}

/**
 * Sets the four headers on a reply of Fastify: `X-RateLimit-Remaining` and `X-RateLimit-Clear`, and for a denial
 * `X-RateLimit-Reset` and `Retry-After`. The status is the caller's.
 *
 * @example
 * ```js
 * import Fastify from 'fastify'
 * import { RateLimiterService, sendRateLimitHeaders } from 'tidegate/sharkey'
 *
 * const service = new RateLimiterService()
 * const app = Fastify()
 * app.get('/', async (request, reply) => {
 *   sendRateLimitHeaders(reply, await service.limit({ key: 'door', type: 'bucket', size: 1 }, request.ip))
 *   return 'hello'
 * })
 * const { headers } = await app.inject('/')
 * assert.deepEqual([headers['x-ratelimit-remaining'], headers['x-ratelimit-clear']], ['0', '1'])
 * ```
 */
export function sendRateLimitHeaders(reply: Reply, info: LimitInfo): void {
  send(reply, info)
}

function optionsOf<U extends User>(given: unknown): RateLimiterServiceOptions<U> {
  if (typeof given !== 'object' || given === null) throw wrongType('', 'options', 'must be an object', given)
  const options = knownOptions(given, OPTIONS, 'the service')
  const { factor, factorCacheMs, disabled } = options
  if (factor !== undefined && typeof factor !== 'function') {
    throw wrongType('', 'factor', 'must be a function of the user', factor)
  }
  if (factorCacheMs !== undefined && !(typeof factorCacheMs === 'number' && factorCacheMs >= 0)) {
    throw outOfRange('', 'factorCacheMs', 'must be at least 0', factorCacheMs)
  }
  if (disabled !== undefined && typeof disabled !== 'boolean') {
    throw wrongType('', 'disabled', 'must be a boolean', disabled)
  }
  return options as RateLimiterServiceOptions<U>
}

function limiterOf(
  given: unknown,
  keys: { readonly layout: 'own' | 'sharkey' | undefined; readonly namespace: string | undefined },
): Limiter {
  if (given instanceof Limiter) {
    const [name] = Object.entries(keys).find(([, value]) => value !== undefined) ?? []
    if (name !== undefined) throw outOfRange('', name, 'must be an option of the limiter that is given', 'both')
    return given
  }
  const { layout = null, namespace = null } = keys
  if (given === undefined) return new Limiter({ layout, namespace })
  if (typeof given === 'string' || given instanceof URL) return new Limiter(given, { layout, namespace })
  throw noLimiter(given)
}

/** True for what the limiter takes, nothing being 1; it refuses the rest by itself. */
const isFactor = (given: number | null | undefined): boolean => Number.isFinite(given ?? 1) && (given ?? 1) >= 0

/** A bucket may leave its type out. */
function definitionOf(limit: Keyed<RateLimit>): Definition {
  if (typeof limit !== 'object' || limit === null) throw wrongType('', 'limit', 'must be a limit with a key', limit)
  if (!('size' in limit) || limit.type === 'bucket') return limit as Definition
  return { ...limit, type: 'bucket' } as Definition
}
