/* The store of express-rate-limit, which hono-rate-limiter has taken over. */

import { wrongType } from '../errors.js'
import { HitCounter, type Hits, storeOptions } from './hits.js'

/** The window of both libraries where none is given. */
const USUAL_WINDOW_MS = 60_000

/** The hits of a client, as both libraries read them. */
export interface ClientHits {
  /** The hits in this window, a positive whole number. */
  totalHits: number
  /** The end of the window. */
  resetTime: Date
}

/** The methods that both libraries call. */
export abstract class WindowStore {
  /** The name before every key. */
  readonly prefix: string
  /** True if no other process counts on these keys. */
  readonly localKeys: boolean
  readonly #hits: HitCounter
  #windowMs = USUAL_WINDOW_MS

  /** @internal */
  constructor(options: unknown, library: string) {
    this.#hits = new HitCounter(storeOptions(options), library)
    this.prefix = this.#hits.prefix
    this.localKeys = this.#hits.isLocal
  }

  /** Takes the window from the options of the middleware. */
  init({ windowMs }: { readonly windowMs?: number | undefined }): void {
    if (windowMs === undefined) return
    if (typeof windowMs !== 'number') throw wrongType(this.prefix, 'windowMs', 'must be a number', windowMs)
    this.#windowMs = windowMs
  }

  /** The hits of a client; nothing if there are none. */
  async get(key: string): Promise<ClientHits | undefined> {
    const hits = await this.#hits.read(key, this.#windowMs)
    return hits.count === 0 ? undefined : clientHits(hits)
  }

  /** Counts a hit. */
  async increment(key: string): Promise<ClientHits> {
    return clientHits(await this.#hits.add(key, this.#windowMs))
  }

  /** Takes a hit back, never below none. */
  async decrement(key: string): Promise<void> {
    await this.#hits.remove(key, this.#windowMs)
  }

  /** Forgets the hits of a client. */
  async resetKey(key: string): Promise<void> {
    await this.#hits.reset(key, this.#windowMs)
  }

  /** Forgets every client; with a limiter of the caller's, all entries of its namespace go, those of other limits too. */
  async resetAll(): Promise<void> {
    await this.#hits.limiter.clear()
  }

  /** Closes the limiter, unless it was given as one. */
  async shutdown(): Promise<void> {
    await this.#hits.close()
  }
}

function clientHits({ count, leftMs }: Hits): ClientHits {
  return { totalHits: count, resetTime: new Date(Date.now() + leftMs) }
}
