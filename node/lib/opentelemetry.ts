/**
 * The metrics of limiters for OpenTelemetry, through its API: any SDK exports them.
 *
 * @packageDocumentation
 */

import { metrics as api, type BatchObservableCallback, type MeterProvider } from '@opentelemetry/api'
import { type Limiters, reader } from './limiter/exported.js'

export type { Limiters } from './limiter/exported.js'

/** Settings of {@link instrument}. */
export interface InstrumentOptions {
  /** The provider of the meter. @defaultValue the global one */
  readonly meterProvider?: MeterProvider | undefined
}

/**
 * Exports the metrics of a limiter, or of several by name, as observable instruments of a meter.
 *
 * Calls are counted by limit from now on, and the numbers are read when they are collected. With names,
 * `instrument({ api, jobs })`, each number has the attribute `limiter`. Once for each provider; after the function that
 * is returned was called, the limiters are no longer read, as is right for one that is closed.
 *
 * @example
 * ```js
 * import { Limiter } from 'tidegate'
 * import { instrument } from 'tidegate/opentelemetry'
 *
 * const limiter = new Limiter()
 * const stop = instrument(limiter)
 * stop()
 * limiter.close()
 * ```
 */
export function instrument(limiters: Limiters, { meterProvider }: InstrumentOptions = {}): () => void {
  const { metrics, read } = reader(limiters)
  const meter = (meterProvider ?? api.getMeterProvider()).getMeter('tidegate')
  const instruments = metrics.map(({ instrument, help: description, unit, kind }) =>
    kind === 'counter'
      ? meter.createObservableCounter(instrument, { description, unit })
      : meter.createObservableGauge(instrument, { description, unit }),
  )
  const observe: BatchObservableCallback = (result) => {
    for (const [place, metric] of read().entries()) {
      const instrument = instruments[place]
      if (!instrument) continue
      for (const { labels, value } of metric.samples) result.observe(instrument, value, labels)
    }
  }
  meter.addBatchObservableCallback(observe, instruments)
  return () => meter.removeBatchObservableCallback(observe, instruments)
}
