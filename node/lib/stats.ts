import { answered } from './errors.js'
import type { ReportedFailure } from './failures.js'
import type { Store } from './info.js'
import { native } from './native.js'

/** The statistics of a limiter with a store that others share, in this process; in memory nothing is counted. */
export interface LimiterStats {
  /** Calls that were answered or failed. */
  readonly decisions: number
  /** Calls that were admitted. */
  readonly admitted: number
  /** Calls that were denied, from the cache of denials too. */
  readonly blocked: number
  /** Calls that ended in an error. */
  readonly failed: number
  /** Calls that were answered without the store, or failed, because of a failure. */
  readonly degraded: number
  /** Calls that were denied without asking the store. */
  readonly denyCacheHits: number
  /** Decisions that were sent to the store. */
  readonly storeCalls: number
  /** Round trips in which they were sent. */
  readonly batches: number
  /** Entries of the store that could not be read, and were written anew. */
  readonly corruptEntries: number
  /** The number of calls that met each failure. */
  readonly failures: Readonly<Record<ReportedFailure, number>>
  /** Whether the store is asked, or a server failed and is probed. */
  readonly breaker: 'closed' | 'open'
  /** How long the store took to decide. */
  readonly latency: LatencyStats
}

/** A histogram of times. */
export interface LatencyStats {
  /** How many took less than each bound, and no less than the one before; the last has none. */
  readonly buckets: readonly { readonly underMs: number | null; readonly count: number }[]
  /** All of them together, in milliseconds. */
  readonly sumMs: number
}

/** In the order in which the engine tells them; `src/stores.rs` has the same. */
const COUNTS = [
  'decisions',
  'admitted',
  'blocked',
  'failed',
  'degraded',
  'denyCacheHits',
  'storeCalls',
  'batches',
  'corruptEntries',
] as const

/** What the limiter of this store has done. */
export function statsOf(store: Store): LimiterStats {
  const { numbers, failures, met, open, bounds, times, sumMs } = answered(native.stats(store.handle))
  const named = <Name extends string>(names: readonly Name[], numbers: readonly number[]) =>
    Object.fromEntries(names.map((name, index) => [name, numbers[index]])) as Record<Name, number>
  return {
    ...named(COUNTS, numbers),
    failures: named(failures, met),
    breaker: open ? 'open' : 'closed',
    latency: { buckets: times.map((count, index) => ({ underMs: bounds[index] ?? null, count })), sumMs },
  }
}
