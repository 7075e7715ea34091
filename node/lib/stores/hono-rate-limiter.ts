/**
 * A store for hono-rate-limiter, 0.4 or later.
 *
 * @packageDocumentation
 */

import type { StoreOptions } from './hits.js'
import { WindowStore } from './windows.js'

export type { StoreOptions } from './hits.js'
export type { ClientHits } from './windows.js'

/**
 * Counts in a limiter's store: `rateLimiter({ windowMs, limit, store: new Store({ limiter: 'redis://localhost' }) })`.
 * A window starts at a client's first request. Each middleware has a store of its own.
 *
 * @throws {@link LimitError} for an option that does not exist, or a value that it does not take.
 *
 * @example
 * ```js
 * import { Hono } from 'hono'
 * import { rateLimiter } from 'hono-rate-limiter'
 * import { Store } from 'tidegate/stores/hono-rate-limiter'
 *
 * const app = new Hono()
 * app.use(rateLimiter({ limit: 1, keyGenerator: () => 'ada', store: new Store() }))
 * app.get('/', (context) => context.text('hello'))
 * assert.equal((await app.request('/')).status, 200)
 * assert.equal((await app.request('/')).status, 429)
 * ```
 */
export class Store extends WindowStore {
  constructor(options?: StoreOptions) {
    super(options, 'hono-rate-limiter')
  }
}
