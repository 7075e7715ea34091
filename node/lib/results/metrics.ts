import { answered } from '../errors.js'
import { native } from '../native/native.js'
import type { Store } from './info.js'

/** A metric of a limiter, with the numbers that it has now. */
export interface Metric {
  /** Its name in Prometheus. */
  readonly name: string
  /** Its name in OpenTelemetry. */
  readonly instrument: string
  /** Its meaning, in a sentence. */
  readonly help: string
  /** Its unit in OpenTelemetry. */
  readonly unit: '1' | 's'
  /** A counter only grows, and so do the counts of a histogram. */
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** The names of its labels. */
  readonly labels: readonly string[]
  /** Its numbers; none of a histogram. */
  readonly samples: readonly MetricSample[]
  /** Its distributions, where it is a histogram. */
  readonly histograms: readonly MetricHistogram[]
}

/** A number of a metric. */
export interface MetricSample {
  /** The values of the labels by their names. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A distribution of a metric, since the limiter was made. */
export interface MetricHistogram {
  /** The values of the labels by their names. */
  readonly labels: Readonly<Record<string, string>>
  /** The number of values up to each bound: also of those of the bounds before. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[]
  /** The number of all values, also of those above the last bound. */
  readonly count: number
  /** All values together. */
  readonly sum: number
}

/** The metrics of the limiter with this store. */
export function metricsOf(store: Store): Metric[] {
  return answered(native.metrics(store.handle)).map(({ named, values, bounds, histograms: numbers, ...metric }) => {
    const labelsOf = (index: number): Record<string, string> => {
      const { labels } = metric
      return Object.fromEntries(labels.map((label, place) => [label, named[index * labels.length + place] as string]))
    }
    const samples = values.map((value, index) => ({ labels: labelsOf(index), value }))
    const histograms: MetricHistogram[] = []
    for (let at = 0; at < numbers.length; at += bounds.length + 2) {
      const buckets = bounds.map((upTo, index) => ({ upTo, count: numbers[at + index] as number }))
      const [count, sum] = numbers.slice(at + bounds.length) as [number, number]
      histograms.push({ labels: labelsOf(histograms.length), buckets, count, sum })
    }
    return { ...metric, samples, histograms }
  })
}
