/** The numbers of a limiter, and their export to Prometheus and OpenTelemetry, after calls that are known. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { Registry } from 'prom-client'
import { bucket, concurrency, LimitError, Limiter, StoreError, tokenBucket } from 'tidegate'
import { instrument } from 'tidegate/opentelemetry'
import { collectMetrics } from 'tidegate/prometheus'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const login = bucket({ key: 'login', size: 10, dripRate: 3_600_000 })
const small = bucket({ key: 'small', size: 1, dripRate: 3_600_000 })
const jobs = concurrency({ key: 'jobs', max: 3, lease: 60_000 })
const soon = tokenBucket({ key: 'soon', count: 1, period: 500 })

/** The numbers of metrics, also those of histograms, as Prometheus names them. */
const flat = (metrics) =>
  metrics.flatMap(({ name, samples, histograms }) => [
    ...samples.map((sample) => ({ name, ...sample })),
    ...histograms.flatMap(({ labels, buckets, count, sum }) => [
      ...buckets.map((one) => ({ name: `${name}_bucket`, labels: { ...labels, le: `${one.upTo}` }, value: one.count })),
      { name: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
      { name: `${name}_count`, labels, value: count },
      { name: `${name}_sum`, labels, value: sum },
    ]),
  ])

/** The numbers that are not zero, by name and labels; those by limit alone. */
const byLimit = (samples) =>
  Object.fromEntries(
    samples
      .filter(({ labels, value }) => 'limit' in labels && value)
      .map(({ name, labels, value }) => [[name, ...Object.values(labels)].join(' '), value]),
  )

const numbers = (limiter) => byLimit(flat(limiter.metrics()))

/** Calls of every kind that is counted, and what they come to. */
async function calls(limiter) {
  for (let call = 0; call < 12; call++) await limiter.limit(login, 'ada')
  await limiter.peek(login, 'ada')
  await limiter.charge(login, 'ada')
  await limiter.refund(login, 'ada')
  for (let call = 0; call < 2; call++) await limiter.limit([login, small], 'bob')
  await assert.rejects(limiter.limit(small, 'eve', { cost: 2 }), LimitError)
  await limiter.hold(jobs, 'ada', {}, () => undefined)
  await limiter.limit(jobs, 'ada')
  await limiter.limit(soon, 'ada')
  const { blocked, waitMs } = await limiter.acquire(soon, 'ada', { maxWaitMs: 10_000 })
  assert.equal(blocked, false)
  return {
    'tidegate_decisions_total login allowed': 12,
    'tidegate_decisions_total login denied': 2,
    'tidegate_decisions_total small allowed': 1,
    'tidegate_decisions_total small denied': 1,
    'tidegate_decisions_total small failed': 1,
    'tidegate_decisions_total jobs allowed': 2,
    'tidegate_decisions_total soon allowed': 2,
    'tidegate_near_limit_total login': 2,
    'tidegate_near_limit_total small': 1,
    'tidegate_near_limit_total soon': 2,
    'tidegate_held_units_total jobs': 2,
    'tidegate_released_units_total jobs': 1,
    'tidegate_wait_duration_seconds_count soon': 1,
    'tidegate_wait_duration_seconds_sum soon': waitMs / 1000,
    ...Object.fromEntries(
      [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, '+Inf']
        .filter((bound) => !(waitMs / 1000 > bound))
        .map((bound) => [`tidegate_wait_duration_seconds_bucket soon ${bound}`, 1]),
    ),
  }
}

for (const [name, url] of [
  ['in memory', 'memory://'],
  ['over a store', server.url],
]) {
  test(`numbers are exact ${name}, in prom-client too`, async () => {
    const limiter = new Limiter(url, { timeoutMs: 5000, namespace: 'metrics', onError: 'raise' })
    await limiter.limit(login, 'before')
    const registry = new Registry()
    const stop = collectMetrics(limiter, { registry })
    const expected = await calls(limiter)
    assert.deepEqual(numbers(limiter), expected)
    const collected = (await registry.getMetricsAsJSON()).flatMap(({ name, values }) =>
      values.map(({ metricName, ...sample }) => ({ name: metricName ?? name, ...sample })),
    )
    assert.deepEqual(byLimit(collected), expected)
    const text = await registry.metrics()
    assert.match(text, /^tidegate_decisions_total\{limit="login",outcome="denied"\} 2$/m)
    assert.match(text, /^# TYPE tidegate_entries gauge$/m)
    const { storeCalls } = limiter.stats()
    assert.match(text, new RegExp(`^tidegate_store_calls_total ${storeCalls}$`, 'm'))
    assert.match(text, /^# TYPE tidegate_store_duration_seconds histogram$/m)
    const answered = /^tidegate_store_duration_seconds_bucket\{le="\+Inf"\} (\d+)$/m.exec(text)
    assert.equal(Number(answered?.[1] ?? 0), storeCalls)
    stop()
    limiter.close()
    assert.equal(await registry.metrics(), '\n')
  })
}

test('calls on the calling thread are counted alike', () => {
  const limiter = new Limiter()
  limiter.metrics()
  for (let call = 0; call < 3; call++) limiter.limitSync([login, small], 'ada')
  limiter.limitSync(login, 'bob')
  assert.deepEqual(numbers(limiter), {
    'tidegate_decisions_total login allowed': 4,
    'tidegate_decisions_total small allowed': 1,
    'tidegate_decisions_total small denied': 2,
    'tidegate_near_limit_total small': 1,
  })
})

test('several limiters have names', async () => {
  const limiters = { one: new Limiter(), two: new Limiter() }
  const registry = new Registry()
  collectMetrics(limiters, { registry })
  for (let call = 0; call < 2; call++) limiters.one.limitSync(login, 'ada')
  limiters.two.limitSync(login, 'ada')
  const text = await registry.metrics()
  for (const [limiter, calls] of [
    ['one', 2],
    ['two', 1],
  ]) {
    const line = `tidegate_decisions_total{limiter="${limiter}",limit="login",outcome="allowed"} ${calls}\n`
    assert.ok(text.includes(line), text)
  }
})

for (const left of [['two'], []]) {
  test(`of two limiters, ${left.length} are left when others are closed`, async () => {
    const limiters = { one: new Limiter(), two: new Limiter() }
    const registry = new Registry()
    collectMetrics(limiters, { registry })
    const alone = new Registry()
    collectMetrics(limiters.one, { registry: alone })
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
    const meterProvider = new MeterProvider({ readers: [reader] })
    instrument(limiters, { meterProvider })
    for (const [name, limiter] of Object.entries(limiters)) {
      limiter.limitSync(login, 'ada')
      if (!left.includes(name)) limiter.close()
    }
    const named = async (registry) =>
      (await registry.getMetricsAsJSON()).flatMap(({ values }) => values.map(({ labels }) => labels.limiter))
    assert.deepEqual(new Set(await named(registry)), new Set(left))
    assert.deepEqual(await named(alone), [])
    await reader.forceFlush()
    const points = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    const read = points.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes.limiter))
    assert.deepEqual(new Set(read), new Set(left))
    for (const exporting of [collectMetrics, instrument]) {
      assert.throws(
        () => exporting(limiters.one),
        (error) => error instanceof StoreError && error.failure === 'closed',
      )
    }
    await meterProvider.shutdown()
  })
}

test('OpenTelemetry has the same numbers', async () => {
  const limiter = new Limiter()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const stop = instrument(limiter, { meterProvider })
  const expected = await calls(limiter)
  await reader.forceFlush()
  const metrics = limiter.metrics()
  // In memory nothing is measured.
  const given = metrics.filter(({ samples, histograms }) => samples.length > 0 || histograms.length > 0)
  const parts = given.flatMap(({ name, instrument, help, unit, kind }) => {
    if (kind !== 'histogram') return [{ name, instrument, help, unit }]
    const units = Object.entries({ count: '1', sum: 's', bucket: '1' })
    return units.map(([part, unit]) => ({ name: `${name}_${part}`, instrument: `${instrument}.${part}`, help, unit }))
  })
  const nameOf = new Map(parts.map(({ instrument, name }) => [instrument, name]))
  const exported = exporter.getMetrics()[0].scopeMetrics[0].metrics
  const samples = exported.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({ name: nameOf.get(descriptor.name), labels: attributes, value })),
  )
  assert.deepEqual(byLimit(samples), expected)
  const described = exported.map(({ descriptor: { name, unit, description } }) => `${name} ${unit} ${description}`)
  assert.deepEqual(
    new Set(described),
    new Set(parts.map(({ instrument, unit, help }) => `${instrument} ${unit} ${help}`)),
  )
  stop()
  await meterProvider.shutdown()
})

test('Python exports metrics of the same names and meanings', () => {
  const script = 'import json; from tidegate import Limiter; print(json.dumps([m[:6] for m in Limiter().metrics()]))'
  const python = JSON.parse(execFileSync('.venv/bin/python', ['-c', script], { encoding: 'utf8' }))
  const here = new Limiter()
    .metrics()
    .map((one) => [one.name, one.instrument, one.help, one.unit, one.kind, one.labels])
  assert.deepEqual(python, here)
})

test('options are checked', () => {
  for (const [options, field] of [
    [{ registry: 3 }, 'registry'],
    [{ registr: 3 }, 'registr'],
    [null, 'options'],
    [3, 'options'],
  ]) {
    assert.throws(
      () => collectMetrics(new Limiter(), options),
      (error) => error instanceof LimitError && error.field === field,
    )
  }
  for (const [options, field] of [
    [{ meterProvider: 3 }, 'meterProvider'],
    [{ meter: 3 }, 'meter'],
    [null, 'options'],
  ]) {
    assert.throws(
      () => instrument(new Limiter(), options),
      (error) => error instanceof LimitError && error.field === field,
    )
  }
})

test('what is no limiter is refused', () => {
  for (const limiters of [undefined, null, 3, 'memory://', { api: 3 }]) {
    for (const exporting of [collectMetrics, instrument]) {
      assert.throws(
        () => exporting(limiters),
        (error) => error instanceof LimitError && error.field === 'limiters',
      )
    }
  }
})
