import { StoreError, wrongType } from '../errors.js'
import type { Metric, MetricHistogram, MetricSample } from '../results/metrics.js'
import { Limiter } from './limiter.js'

/** A limiter, or several by name. */
export type Limiters = Limiter | Readonly<Record<string, Limiter>>

/**
 * The metrics of all limiters, and a way to read them again, once in a tick at most; several have the label `limiter`
 * besides. One that is closed since is left out.
 */
export function reader(limiters: Limiters): { metrics: Metric[]; read: () => Metric[] } {
  const isOne = (value: unknown) => value instanceof Limiter
  if (!isOne(limiters) && !(limiters && typeof limiters === 'object' && Object.values(limiters).every(isOne))) {
    throw wrongType('', 'limiters', 'must be a limiter, or limiters by name', limiters)
  }
  const copy = limiters instanceof Limiter ? limiters : { ...limiters }
  const read = (each: (limiter: Limiter) => Metric[]) => (copy instanceof Limiter ? each(copy) : merged(copy, each))
  let known: Metric[] | undefined
  const readOnce = () => {
    if (!known) {
      queueMicrotask(() => {
        known = undefined
      })
      known = read(unlessClosed)
    }
    return known
  }
  return { metrics: read((limiter) => limiter.metrics()), read: readOnce }
}

/** An error would take the numbers of all others, and of the whole program, out of the export. */
function unlessClosed(limiter: Limiter): Metric[] {
  try {
    return limiter.metrics()
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'closed') return []
    throw error
  }
}

function merged(limiters: Readonly<Record<string, Limiter>>, read: (limiter: Limiter) => Metric[]): Metric[] {
  const all = Object.entries(limiters).map(([limiter, one]) => ({ limiter, metrics: read(one) }))
  const each = all.filter(({ metrics }) => metrics.length > 0)
  return (each[0]?.metrics ?? []).map((metric, place) => {
    const samples = each.flatMap(({ limiter, metrics }) =>
      (metrics[place]?.samples ?? []).map(({ labels, value }) => ({ labels: { limiter, ...labels }, value })),
    )
    const histograms = each.flatMap(({ limiter, metrics }) =>
      (metrics[place]?.histograms ?? []).map(({ labels, ...one }) => ({ labels: { limiter, ...labels }, ...one })),
    )
    return { ...metric, labels: ['limiter', ...metric.labels], samples, histograms }
  })
}

/** The buckets of a histogram with their bounds as labels, also the one without a bound. */
export function bounded({ labels, buckets, count }: MetricHistogram): MetricSample[] {
  const limited = buckets.map(({ upTo, count }) => ({ labels: { ...labels, le: String(upTo) }, value: count }))
  return [...limited, { labels: { ...labels, le: '+Inf' }, value: count }]
}
