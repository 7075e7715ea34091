/**
 * The metrics of limiters for Prometheus, through prom-client.
 *
 * @packageDocumentation
 */

import { Counter, Gauge, type Histogram, type Registry, register } from 'prom-client'
import { knownOptions, wrongType } from './errors.js'
import { bounded, type Limiters, reader } from './limiter/exported.js'
import type { MetricHistogram } from './results/metrics.js'

export type { Limiters } from './limiter/exported.js'

/** Settings of {@link collectMetrics}. */
export interface CollectOptions {
  /** The registry to collect them in. @defaultValue the default registry of prom-client */
  readonly registry?: Registry | undefined
}

/**
 * Collects the metrics of a limiter, or of several by name, in a registry of prom-client.
 *
 * Calls are counted by limit from now on, and the numbers are read when they are collected. With names,
 * `collectMetrics({ api, jobs })`, each number has the label `limiter`. Once for each registry; the function that is
 * returned removes them again. A limiter that is closed is left out.
 *
 * @example
 * ```js
 * import { Registry } from 'prom-client'
 * import { bucket, Limiter } from 'tidegate'
 * import { collectMetrics } from 'tidegate/prometheus'
 *
 * const limiter = new Limiter()
 * const registry = new Registry()
 * collectMetrics(limiter, { registry })
 * limiter.limitSync(bucket({ key: 'login', size: 10 }), 'ada')
 * assert.match(await registry.metrics(), /tidegate_decisions_total\{limit="login",outcome="allowed"\} 1/)
 * ```
 */
export function collectMetrics(limiters: Limiters, options: CollectOptions = {}): () => void {
  const { registry = register }: CollectOptions = knownOptions(options, ['registry'], 'metrics')
  if (typeof registry?.registerMetric !== 'function') {
    throw wrongType('', 'registry', 'must be a registry of prom-client', registry)
  }
  const { metrics, read } = reader(limiters)
  const collected = metrics.map(({ name, help, labels: labelNames, kind }, place) => {
    const settings = { name, help, labelNames, registers: [registry] }
    const samples = () => read()[place]?.samples ?? []
    if (kind === 'histogram') {
      const counted = distribution(name, help, () => read()[place]?.histograms ?? [])
      registry.registerMetric(counted)
      return counted
    }
    // One without labels is 0 after a reset, also where there is nothing to read.
    const forget = (metric: Gauge | Counter) => {
      metric.reset()
      if (labelNames.length === 0) metric.remove()
    }
    if (kind === 'gauge') {
      return new Gauge({
        ...settings,
        collect() {
          forget(this)
          for (const { labels, value } of samples()) this.set(labels, value)
        },
      })
    }
    return new Counter({
      ...settings,
      collect() {
        forget(this)
        for (const { labels, value } of samples()) this.inc(labels, value)
      },
    })
  })
  return () => {
    for (const [place, { name }] of metrics.entries()) {
      if (registry.getSingleMetric(name) === collected[place]) registry.removeSingleMetric(name)
    }
  }
}

/** A histogram whose counts are known: those of prom-client count what they observe. */
function distribution(name: string, help: string, read: () => readonly MetricHistogram[]): Histogram {
  const get = async () => {
    const values = read().flatMap((one) => [
      ...bounded(one).map((bucket) => ({ metricName: `${name}_bucket`, ...bucket })),
      { metricName: `${name}_sum`, labels: one.labels, value: one.sum },
      { metricName: `${name}_count`, labels: one.labels, value: one.count },
    ])
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
  // All that a registry asks of a metric.
  return { name, get, reset: () => undefined } as unknown as Histogram
}
