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
  /** A counter only grows. */
  readonly kind: 'counter' | 'gauge'
  /** The names of its labels. */
  readonly labels: readonly string[]
  /** Its numbers. */
  readonly samples: readonly MetricSample[]
}

/** A number of a metric. */
export interface MetricSample {
  /** The values of the labels by their names. */
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The metrics of the limiter with this store. */
export function metricsOf(store: Store): Metric[] {
  return answered(native.metrics(store.handle)).map(({ grows, named, values, ...metric }) => {
    const { labels } = metric
    const samples = values.map((value, index) => {
      const each = labels.map((label, place) => [label, named[index * labels.length + place] as string])
      return { labels: Object.fromEntries(each), value }
    })
    return { ...metric, kind: grows ? 'counter' : 'gauge', samples }
  })
}
