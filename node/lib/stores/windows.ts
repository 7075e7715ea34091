/* The store of express-rate-limit, which hono-rate-limiter has taken over. */

import { outOfRange, wrongType } from '../errors.js'
import { clientText, HitCounter, type Hits, storeOptions } from './hits.js'

/** The window of both libraries where none is given. */
const USUAL_WINDOW_MS = 60_000
/** The cost of a hit, so that something is left of those that were taken back. */
const UNIT = 1000

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
  /** True if no other store counts on these keys: in this process, without a prefix that another may have. */
  readonly localKeys: boolean
  readonly #hits: HitCounter
  #given: unknown = USUAL_WINDOW_MS

  /** @internal */
  constructor(options: unknown, library: string) {
    this.#hits = new HitCounter(storeOptions(options), library, UNIT)
    this.prefix = this.#hits.prefix
    this.localKeys = this.#hits.isAlone
  }

  /** Takes the window from the options of the middleware. */
  init({ windowMs }: { readonly windowMs?: number | undefined }): void {
    if (windowMs === undefined) return
    this.#given = windowMs
    if (this.#window() > 0) return
    const text = `${this.prefix}: windowMs is ${windowMs}, so each request is the first of its window and none is refused`
    process.emitWarning(text, 'TidegateWarning')
  }

  /** The hits of a client in its window; nothing if it has none. */
  async get(key: string | number | bigint): Promise<ClientHits | undefined> {
    const windowMs = this.#window()
    if (windowMs <= 0) return undefined
    const hits = await this.#hits.read(clientText(key), windowMs)
    return hits.leftMs === 0 ? undefined : clientHits(hits)
  }

  /** Counts a hit. */
  async increment(key: string | number | bigint): Promise<ClientHits> {
    const windowMs = this.#window()
    return clientHits(windowMs > 0 ? await this.#hits.add(clientText(key), windowMs) : { count: 1, leftMs: 0 })
  }

  /** Takes a hit back, never below none. */
  async decrement(key: string | number | bigint): Promise<void> {
    const windowMs = this.#window()
    if (windowMs > 0) await this.#hits.remove(clientText(key), windowMs)
  }

  /** Forgets the hits of a client. */
  async resetKey(key: string | number | bigint): Promise<void> {
    const windowMs = this.#window()
    if (windowMs > 0) await this.#hits.reset(clientText(key), windowMs)
  }

  /** Forgets every client; with a limiter of the caller's, all entries of its namespace go, those of other limits too. */
  async resetAll(): Promise<void> {
    await this.#hits.limiter.clear()
  }

  /** Closes the limiter, unless it was given as one, or another store of its URL uses it. */
  async shutdown(): Promise<void> {
    await this.#hits.close()
  }

  /** The window, checked at each call: express-rate-limit logs what `init` throws, and goes on. It may be empty. */
  #window(): number {
    const given = this.#given
    if (typeof given !== 'number') throw wrongType(this.prefix, 'windowMs', 'must be a number', given)
    if (!Number.isFinite(given)) throw outOfRange(this.prefix, 'windowMs', 'must be finite', given)
    return given
  }
}

function clientHits({ count, leftMs }: Hits): ClientHits {
  return { totalHits: count, resetTime: new Date(Date.now() + leftMs) }
}
