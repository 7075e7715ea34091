/**
 * A store for @fastify/rate-limit, 10 or later.
 *
 * @packageDocumentation
 */

import { outOfRange, wrongType } from '../errors.js'
import type { Limiter } from '../limiter/limiter.js'
import { clientText, HitCounter, type Hits, MOST_HITS, type StoreOptions, storeOptions } from './hits.js'
import { claimedName } from './limiters.js'
import { RenewingCounter } from './renewing.js'

export type { StoreOptions } from './hits.js'

/** The hits of a client. */
export interface Current {
  /** The hits in this window. */
  current: number
  /** Milliseconds until the window ends. */
  ttl: number
}

/** The plugin's callback. */
export type Callback = (error: Error | null, result?: Current) => void

/** The settings of the plugin, or of a route, as far as a store reads them. */
export interface Settings {
  readonly continueExceeding?: boolean | undefined
  readonly exponentialBackoff?: boolean | undefined
  readonly groupId?: string | undefined
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string } | undefined
}

const LIBRARY = 'fastify-rate-limit'
/**
 * Counts in a limiter's store. The plugin makes its store itself, so it takes the class:
 * `register(rateLimit, { max, timeWindow, store: Store.with({ limiter: 'redis://localhost' }) })`. A window starts at a
 * client's first request. A route with settings of its own counts by itself, or with its `groupId`; so does each
 * `app.rateLimit(options)` and `app.createRateLimit(options)`.
 *
 * With `continueExceeding`, each request over the limit costs more calls of the store. The setting `exponentialBackoff` is
 * refused, because windows here do not grow.
 *
 * @example
 * ```js
 * import rateLimit from '@fastify/rate-limit'
 * import Fastify from 'fastify'
 * import { Store } from 'tidegate/stores/fastify-rate-limit'
 *
 * const app = Fastify()
 * await app.register(rateLimit, { max: 1, timeWindow: '1 minute', store: Store.with({ prefix: 'api' }) })
 * app.get('/', () => 'hello')
 * assert.equal((await app.inject('/')).statusCode, 200)
 * assert.equal((await app.inject('/')).statusCode, 429)
 * ```
 */
export class Store {
  /** The name before every key. */
  readonly prefix: string
  readonly #limiter: Limiter
  readonly #hits: HitCounter | RenewingCounter

  /** @throws {@link LimitError} for a setting that this store cannot follow, and for an option of {@link Store.with}. */
  constructor(settings: Settings, hits?: HitCounter) {
    const counter = hits ?? new HitCounter(pluginsOwn(settings), LIBRARY)
    const { limiter, prefix } = counter
    this.#limiter = limiter
    this.prefix = prefix
    const renews = settings.continueExceeding === true
    // The plugin prefers the first one, too.
    if (settings.exponentialBackoff === true && !renews) {
      throw outOfRange(prefix, 'exponentialBackoff', 'must not be set with this store', true)
    }
    this.#hits = renews ? new RenewingCounter({ limiter, prefix }) : counter
  }

  /**
   * A store with these options, as the plugin takes it. All that the plugin makes of it count together.
   *
   * @throws {@link LimitError} for an option that does not exist, or a value that it does not take.
   */
  static with(options: StoreOptions): new (settings: Settings) => Store {
    const hits = new HitCounter(storeOptions(options, 'Store.with({ limiter })'), LIBRARY)
    return class extends Store {
      constructor(settings: Settings) {
        super(settings, hits)
      }
    }
  }

  /** Counts a hit of a key, which may be a number. */
  incr(key: string | number, callback: Callback, timeWindow: number, max = MOST_HITS): void {
    answer(timeWindow <= 0 ? ALONE : this.#hits.add(clientText(key), windowOf(timeWindow), max), callback, max)
  }

  /** Reads the hits of a client, and counts none. */
  read(key: string | number, callback: Callback, timeWindow: number, max = MOST_HITS): void {
    answer(this.#hits.read(clientText(key), windowOf(timeWindow)), callback, max)
  }

  /** The store of a route, a group of routes, or a hook with settings of its own. */
  child(settings: object): Store {
    const limiter = this.#limiter
    // The plugin's types say the options of the route, but it passes its own settings merged with the route's.
    const { groupId, routeInfo: { method = '', url } = {} } = settings as Settings
    let prefix = `${this.prefix} ${[method].flat().join()} ${url}`
    if (groupId !== undefined) prefix = `${this.prefix} group ${groupId}`
    else if (url === undefined) prefix = claimedName(limiter, `${this.prefix} hook`)
    return new Store(settings, new HitCounter({ limiter, prefix }, ''))
  }
}

/** Refuses the options of a store where the settings of the plugin belong; the plugin would say that it is no class. */
function pluginsOwn(settings: object): StoreOptions {
  for (const name of ['limiter', 'prefix']) {
    if (name in settings) throw wrongType('', name, 'must be given to Store.with()', Reflect.get(settings, name))
  }
  return {}
}

/** The hits in a window of 0, which the plugin allows: every request is the first. */
const ALONE = Promise.resolve({ count: 1, leftMs: 0 })

/** The window, at least a millisecond. */
const windowOf = (timeWindow: number): number => Math.max(timeWindow, 1)

/** Tells the plugin. A client that is denied because the store did not answer is refused, but not banned. */
function answer(hits: Promise<Hits>, callback: Callback, max: number): void {
  hits.then(
    ({ count, leftMs }) => callback(null, { current: count < MOST_HITS ? count : max + 1, ttl: leftMs }),
    (error: Error) => callback(error),
  )
}
