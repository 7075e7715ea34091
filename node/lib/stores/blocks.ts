/* Hits of clients that can be blocked for a time, for libraries that know such blocks. */

import type { Check } from '../limiter/parts.js'
import type { Limit } from '../limits/definition-cache.js'
import { bucket } from '../limits.js'
import { HitCounter, type Hits, hitsOf, MOST_HITS, type StoreOptions } from './hits.js'
import { Recent } from './recent.js'

/** A client's hits, and its block. */
export interface BlockableHits extends Hits {
  /** Milliseconds until the block ends; 0 if there is none. */
  readonly blockedMs: number
}

/** The most units of a level. */
export const MOST_UNITS = MOST_HITS
/** The most points that a client can have, or that are held. */
export const MOST_POINTS = 100_000_000_000
/** The longest time for which a client is blocked, or points are held, 12 years. */
export const LONGEST_MS = MOST_UNITS / 2 - MOST_POINTS

/** Counts of hits that stand still while their client is blocked. */
export class BlockingCounter extends HitCounter {
  /** A level of two units per millisecond: overfilled, it denies even what costs nothing until all but one have left. */
  protected readonly block: Limit
  readonly #blocks = new Recent<Limit>((size) => {
    return bucket({ key: `${this.prefix} block`, size, dripRate: 1, dripSize: 2 })
  })

  constructor(options: StoreOptions, library: string) {
    super(options, library)
    this.block = this.#blocks.get(1)
  }

  /** Counts a hit, unless the client is blocked, in one decision. */
  async addUnlessBlocked(client: string, windowMs: number): Promise<BlockableHits> {
    const { checks } = await this.limiter.limitAll(this.checks(client, windowMs, 1))
    const [hits, block] = checks as [(typeof checks)[0], (typeof checks)[0]]
    const { count, leftMs } = hitsOf(hits)
    return { count: Math.max(count, 1), leftMs, blockedMs: block.blocked ? block.resetMs : 0 }
  }

  /** Blocks a client. Of several calls at the same time one does, and a block that there is stays as it is. */
  async blockFor(client: string, blockMs: number): Promise<void> {
    const cost = Math.min(Math.ceil(blockMs), LONGEST_MS) * 2
    // A size that has room for the block, and for the unit that may be left of the one before.
    await this.limiter.limit(this.#blocks.get(cost + 1), client, { cost })
  }

  protected checks(actor: string, windowMs: number, cost: number): Check[] {
    return [
      { limit: this.window(windowMs), actor, cost },
      { limit: this.block, actor, cost: 0 },
    ]
  }
}
