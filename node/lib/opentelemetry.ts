/**
 * The metrics of limiters for OpenTelemetry, through its API: any SDK exports them.
 *
 * @packageDocumentation
 */

import { metrics as api, type BatchObservableCallback, type MeterProvider } from '@opentelemetry/api'
import { knownOptions, wrongType } from './errors.js'
import { bounded, type Limiters, reader } from './limiter/exported.js'
import type { Metric, MetricSample } from './results/metrics.js'

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
 * is returned was called, the limiters are no longer read. A limiter that is closed is left out.
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
export function instrument(limiters: Limiters, options: InstrumentOptions = {}): () => void {
  const { meterProvider = api.getMeterProvider() }: InstrumentOptions = knownOptions(
    options,
    ['meterProvider'],
    'metrics',
  )
  if (typeof meterProvider?.getMeter !== 'function') {
    throw wrongType('', 'meterProvider', 'must be a provider of meters', meterProvider)
  }
  const { metrics, read } = reader(limiters)
  const meter = meterProvider.getMeter('tidegate')
  const instruments = metrics
    .flatMap(numbersOf)
    .map(({ name, help: description, unit, kind }) =>
      kind === 'gauge'
        ? meter.createObservableGauge(name, { description, unit })
        : meter.createObservableCounter(name, { description, unit }),
    )
  const observe: BatchObservableCallback = (result) => {
    for (const [place, { samples }] of read().flatMap(numbersOf).entries()) {
      const instrument = instruments[place]
      if (!instrument) continue
      for (const { labels, value } of samples) result.observe(instrument, value, labels)
    }
  }
  meter.addBatchObservableCallback(observe, instruments)
  return () => meter.removeBatchObservableCallback(observe, instruments)
}

type Numbers = Pick<Metric, 'help' | 'unit' | 'kind' | 'samples'> & { readonly name: string }

/** The numbers of each instrument of a metric; see docs/observability.md for histograms. */
function numbersOf({ instrument, help, unit, kind, samples, histograms }: Metric): Numbers[] {
  if (kind !== 'histogram') return [{ name: instrument, help, unit, kind, samples }]
  const part = (name: string, unit: Metric['unit'], samples: MetricSample[]): Numbers => {
    return { name: `${instrument}.${name}`, help, unit, kind, samples }
  }
  return [
    part(
      'count',
      '1',
      histograms.map(({ labels, count }) => ({ labels, value: count })),
    ),
    part(
      'sum',
      unit,
      histograms.map(({ labels, sum }) => ({ labels, value: sum })),
    ),
    part('bucket', '1', histograms.flatMap(bounded)),
  ]
}
