/* Hits in windows that begin anew with each hit over the limit, for @fastify/rate-limit. */

import { LONGEST_MS } from './blocks.js'
import type { Hits, StoreOptions } from './hits.js'
import { PointCounter, type Points } from './points.js'

/** Counts of hits, in windows that begin anew with each hit over the limit. */
export class RenewingCounter {
  readonly #points: PointCounter

  constructor(options: StoreOptions) {
    this.#points = new PointCounter(options, '')
  }

  /** Counts a hit. */
  async add(client: string, windowMs: number, max: number): Promise<Hits> {
    const taken = await this.#points.take(client, windowMs, 1)
    if (taken.used <= max || taken.blocked) return hitsOf(taken)
    const holdMs = Math.min(Math.ceil(windowMs), LONGEST_MS)
    await this.#points.prolong(client, windowMs, taken, holdMs)
    return { count: taken.used, leftMs: Math.max(holdMs, taken.isHeld ? taken.leftMs : 0) }
  }

  /** The hits until now. */
  async read(client: string, windowMs: number): Promise<Hits> {
    return hitsOf(await this.#points.look(client, windowMs))
  }
}

const hitsOf = ({ used, leftMs }: Points): Hits => ({ count: used, leftMs })
