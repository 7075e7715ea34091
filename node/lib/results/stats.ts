import { answered } from '../errors.js'
import { COUNTERS, type Counters, type ReportedFailure } from '../native/names.js'
import { native } from '../native/native.js'
import type { Store } from './info.js'

/** The statistics of a limiter, in this process. In memory only calls are counted: no server is asked, and no time is measured. */
export interface LimiterStats extends Counters {
  /** The number of calls that the store did not decide, by the reason. */
  readonly failures: Readonly<Record<ReportedFailure, number>>
  /** The state of the circuit breaker; `open` while a server that failed is probed. */
  readonly breaker: 'closed' | 'open'
  /** The time that the store took to decide. */
  readonly latency: LatencyStats
}

/** A histogram of times. */
export interface LatencyStats {
  /** The number of decisions below each bound, and not below the one before; the last has no bound. Empty in memory. */
  readonly buckets: readonly { readonly underMs: number | null; readonly count: number }[]
  /** The sum of all, in milliseconds. */
  readonly sumMs: number
}

/** The statistics of the limiter with this store. */
export function statsOf(store: Store): LimiterStats {
  const { numbers, failures, met, open, bounds, times, sumMs } = answered(native.stats(store.handle))
  const named = <Name extends string>(names: readonly Name[], numbers: readonly number[]) =>
    Object.fromEntries(names.map((name, index) => [name, numbers[index]])) as Record<Name, number>
  return {
    ...named(COUNTERS, numbers),
    failures: named(failures, met),
    breaker: open ? 'open' : 'closed',
    latency: { buckets: times.map((count, index) => ({ underMs: bounds[index] ?? null, count })), sumMs },
  }
}
