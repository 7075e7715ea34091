/* Hits of clients that can be blocked for a time, for libraries that know such blocks. */

import type { Limit } from '../definition_cache.js'
import { bucket } from '../limits.js'
import type { Check } from '../parts.js'
import { HitCounter, type Hits, hitsOf, type StoreOptions } from './hits.js'

/** A client's hits, and its block. */
export interface BlockableHits extends Hits {
  /** Milliseconds until the block ends; 0 if there is none. */
  readonly blockedMs: number
}

/** Counts of hits that stand still while their client is blocked. */
export class BlockingCounter extends HitCounter {
  /** A level of a unit per millisecond: overfilled, it denies even what costs nothing until all but one have left. */
  protected readonly block: Limit

  constructor(options: StoreOptions, library: string) {
    super(options, library)
    this.block = bucket({ key: `${this.prefix} block`, size: 1, dripRate: 1 })
  }

  /** Counts a hit, unless the client is blocked, in one decision. */
  async addUnlessBlocked(client: string, windowMs: number): Promise<BlockableHits> {
    const { checks } = await this.limiter.limitAll(this.checks(client, windowMs, 1))
    const [hits, block] = checks as [(typeof checks)[0], (typeof checks)[0]]
    const { count, leftMs } = hitsOf(hits)
    return { count: Math.max(count, 1), leftMs, blockedMs: block.blocked ? block.resetMs : 0 }
  }

  /** Blocks a client that is not blocked. */
  async blockFor(client: string, blockMs: number): Promise<void> {
    await this.limiter.charge(this.block, client, { cost: Math.ceil(blockMs) + 1 })
  }

  protected checks(actor: string, windowMs: number, cost: number): Check[] {
    return [
      { limit: this.window(windowMs), actor, cost },
      { limit: this.block, actor, cost: 0 },
    ]
  }
}
