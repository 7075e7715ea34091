/**
 * A store for express-rate-limit, 7 or later.
 *
 * @packageDocumentation
 */

import type { Store as TheirStore } from 'express-rate-limit'
import type { StoreOptions } from './hits.js'
import { WindowStore } from './windows.js'

export type { StoreOptions } from './hits.js'
export type { ClientHits } from './windows.js'

/**
 * Counts in a limiter's store: `rateLimit({ windowMs, limit, store: new Store({ limiter: 'redis://localhost' }) })`.
 * A window starts at a client's first request. Each middleware has a store of its own.
 *
 * @throws {@link LimitError} for an option that does not exist, or a value that it does not take.
 *
 * @example
 * ```js
 * import { rateLimit } from 'express-rate-limit'
 * import { Store } from 'tidegate/stores/express-rate-limit'
 *
 * const store = new Store()
 * const middleware = rateLimit({ windowMs: 1000, limit: 2, store })
 * assert.equal((await store.increment('ada')).totalHits, 1)
 * assert.equal((await middleware.getKey('ada')).totalHits, 1)
 * ```
 */
export class Store extends WindowStore implements TheirStore {
  constructor(options?: StoreOptions) {
    super(options, 'express-rate-limit')
  }
}
