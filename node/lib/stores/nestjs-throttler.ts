/**
 * A storage for @nestjs/throttler, 6 or later.
 *
 * @packageDocumentation
 */

import type { ThrottlerStorage } from '@nestjs/throttler'
import { BlockingCounter } from './blocks.js'
import { type StoreOptions, storeOptions } from './hits.js'
import { tooOld } from './library.js'

export type { StoreOptions } from './hits.js'

/** The answer to a hit, as the throttler's guard reads it. */
export interface HitRecord {
  /** The hits in this window. */
  totalHits: number
  /** Seconds until the window ends. */
  timeToExpire: number
  /** True for a hit over the limit, and for every one until the block ends. */
  isBlocked: boolean
  /** Seconds until the next hit is admitted, if it is blocked. */
  timeToBlockExpire: number
}

/**
 * Counts in a limiter's store: `ThrottlerModule.forRoot({ throttlers, storage: new Store({ limiter: 'redis://…' }) })`.
 * A window starts at a client's first request. A request over the limit starts a block of `blockDuration`, behind which
 * the client begins anew.
 *
 * @throws {@link LimitError} for an option that does not exist, or a value that it does not take.
 *
 * @example
 * ```js
 * import { Store } from 'tidegate/stores/nestjs-throttler'
 *
 * const storage = new Store()
 * const hit = () => storage.increment('ada', 60_000, 1, 120_000, 'default')
 * assert.deepEqual(await hit(), { totalHits: 1, timeToExpire: 60, isBlocked: false, timeToBlockExpire: 0 })
 * assert.deepEqual(await hit(), { totalHits: 2, timeToExpire: 60, isBlocked: true, timeToBlockExpire: 120 })
 * ```
 */
export class Store implements ThrottlerStorage {
  /** The name before every key. */
  readonly prefix: string
  readonly #hits: BlockingCounter

  constructor(options?: StoreOptions) {
    this.#hits = new BlockingCounter(storeOptions(options), 'nestjs-throttler')
    this.prefix = this.#hits.prefix
  }

  /** Counts a hit; `ttl` and `blockDuration` are milliseconds. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<HitRecord> {
    // Before version 6 the guard counts the hits itself, and passes no more than a key and a time.
    if (blockDuration === undefined) throw tooOld('@nestjs/throttler', 6)
    // Every request is the first, as those before it have not lasted.
    if (ttl <= 0 && limit >= 1) return { totalHits: 1, timeToExpire: 0, isBlocked: false, timeToBlockExpire: 0 }
    const client = `${throttlerName} ${key}`
    const windowMs = Math.max(ttl, 1)
    const { count, leftMs, blockedMs } = await this.#hits.addUnlessBlocked(client, windowMs)
    if (blockedMs > 0) return refused(Math.max(count, limit + 1), leftMs, blockedMs)
    if (count <= limit) {
      return { totalHits: count, timeToExpire: seconds(leftMs), isBlocked: false, timeToBlockExpire: 0 }
    }
    if (blockDuration <= 0) return refused(count, leftMs, leftMs)
    await this.#hits.blockFor(client, blockDuration)
    if (blockDuration < leftMs) await this.#hits.reset(client, windowMs)
    return refused(count, leftMs, blockDuration)
  }

  /** Closes the limiter with the app, unless it was given as one, or another store of its URL uses it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#hits.close()
  }
}

function refused(totalHits: number, leftMs: number, blockedMs: number): HitRecord {
  return {
    totalHits,
    timeToExpire: seconds(leftMs),
    isBlocked: true,
    timeToBlockExpire: seconds(blockedMs),
  }
}

const seconds = (ms: number): number => Math.ceil(ms / 1000)
