/** Deciding on a real Redis: the same answers as in memory, for everybody who shares it. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, fixedWindow, LimitError, Limiter, StoreError, slidingLog, slidingWindow, tokenBucket } from 'tidegate'
import { eventually, RedisServer } from './server.mjs'

const server = await RedisServer.start()
/** A noisy machine must not make a decision late here; what happens then is tested elsewhere. */
const patient = { timeoutMs: 10_000 }
const limiter = new Limiter(server.url, patient)
let actors = 0
const somebody = () => `actor${++actors}`

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))

function answer(info) {
  const { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs } = info
  return { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs }
}

function options({ now, call, maxWaitMs, remaining, retryAfterMs, forMs }, { cost, ...rest } = {}) {
  if (call === 'observe') return { now, remaining, retryAfterMs, ...rest }
  if (call === 'block') return { now, forMs, ...rest }
  if (cost !== undefined) rest.cost = cost
  return call === 'acquire' ? { now, maxWaitMs, ...rest } : { now, ...rest }
}

/** Sequences are apart from each other, so many go on at the same time; the calls of one come one after another. */
async function eachAtOnce(sequences, play) {
  const rest = sequences.values()
  const player = async () => {
    for (const sequence of rest) await play(sequence)
  }
  await Promise.all(Array.from({ length: 64 }, player))
}

const files = { decisions: read('decisions'), beyond: read('beyond'), legacy: read('legacy') }

for (const [name, { one }] of Object.entries(files)) {
  test(`${name}: one limit at a time`, async () => {
    let checked = 0
    await eachAtOnce(one, async ({ limit, factor, steps }) => {
      const actor = somebody()
      for (const step of steps) {
        if (step.call === 'reset') {
          assert.equal(await limiter.reset(limit, actor), undefined)
          continue
        }
        const info = await limiter[step.call](limit, actor, options(step, { cost: step.cost, factor }))
        assert.deepEqual(answer(info), step.want, JSON.stringify({ limit, factor, step }))
        assert.deepEqual([info.key, info.degraded], [limit.key, false])
        checked++
      }
    })
    assert.ok(checked > 400, `${checked} answers`)
  })
}

test('decisions: several limits together', async () => {
  let checked = 0
  await eachAtOnce([...files.decisions.together, ...files.beyond.together], async ({ limits, factors, steps }) => {
    const actor = somebody()
    for (const step of steps) {
      const checks = limits.map((limit, index) => ({
        limit,
        actor,
        cost: step.costs[index],
        factor: factors[index],
      }))
      const info = await limiter[`${step.call}All`](checks, options(step))
      assert.deepEqual({ ...answer(info), binding: info.binding }, step.want, JSON.stringify({ limits, step }))
      assert.equal(info.actor, actor)
      assert.deepEqual(info.checks.map(answer), step.each, JSON.stringify({ limits, step }))
      checked++
    }
  })
  assert.ok(checked > 200, `${checked} answers`)
})

test('decisions: definitions and factors that change', async () => {
  let checked = 0
  await eachAtOnce([...files.decisions.changing, ...files.beyond.changing], async ({ limits, steps }) => {
    const actor = somebody()
    for (const step of steps) {
      const limit = limits[step.limit]
      if (step.call === 'reset') {
        assert.equal(await limiter.reset(limit, actor), undefined)
        continue
      }
      const { cost, factor } = step
      const info = await limiter[step.call](limit, actor, options(step, { cost, factor }))
      assert.deepEqual(answer(info), step.want, JSON.stringify({ limit, step }))
      checked++
    }
  })
  assert.ok(checked > 400, `${checked} answers`)
})

test('receipts, waits and explanations are those of memory', async () => {
  const memory = new Limiter()
  const limits = [
    bucket({ key: 'bucket', size: 10 }),
    tokenBucket({ key: 'tokens', count: 7, period: 3000 }),
    fixedWindow({ key: 'window', max: 9, period: 5000 }),
    slidingLog({ key: 'log', max: 9, period: 4000, countBlocked: true }),
    slidingWindow({ key: 'slots', max: 9, period: 5000, resolution: 1000 }),
  ]
  for (const limit of [...limits, limits.slice(0, 2), limits]) {
    const actor = somebody()
    const both = async (play) => {
      const [here, there] = [await play(memory, 0), await play(limiter, 1)]
      assert.deepEqual({ ...there }, { ...here })
      assert.deepEqual(there.checks.map(answer), here.checks.map(answer))
    }
    const charged = [[], []]
    for (let step = 0; step < 12; step++) {
      const now = 1000 * step
      await both(async (on, side) => {
        const info = await on.limit(limit, actor, { now, cost: 1 + (step % 3) })
        charged[side].push(info)
        return info
      })
      await both((on, side) => on.settle(charged[side][step >> 1], step % 4, { now: now + 200 }))
      await both((on, side) => on.refund(charged[side][step >> 2], { now: now + 300 }))
      await both((on) => on.acquire(limit, actor, { now: now + 400, maxWaitMs: 2000 }))
      const at = { now: now + 500, cost: 2 }
      const [here, there] = [await memory.explain(limit, actor, at), await limiter.explain(limit, actor, at)]
      assert.equal(String(there), String(here))
      assert.deepEqual({ ...there.info }, { ...here.info })
    }
  }
})

test('everybody who shares a store shares its limits, within a namespace', async () => {
  const [one, other] = [new Limiter(server.url, patient), new Limiter(new URL(server.url), patient)]
  const apart = new Limiter(server.url, { ...patient, namespace: 'apart' })
  const limit = bucket({ key: 'shared', size: 3, dripRate: 60_000 })
  const actor = somebody()
  await one.limit(limit, actor)
  assert.equal((await other.limit(limit, actor)).remaining, 1)
  assert.equal((await apart.limit(limit, actor)).remaining, 2)
  assert.match(await server.command('EXISTS', `apart:{${actor}}:shared`), /^:1/)
  await other.reset([limit, bucket({ key: 'never', size: 1 })], actor)
  assert.equal((await one.peek(limit, actor)).remaining, 3)
})

test('a thousand calls at once never admit more than the limit', async () => {
  const limit = bucket({ key: 'crowd', size: 100, dripRate: 3_600_000 })
  const actor = somebody()
  const others = Array.from({ length: 4 }, () => new Limiter(server.url, patient))
  const calls = Array.from({ length: 1000 }, (_, call) => others[call % 4].limit(limit, actor))
  const infos = await Promise.all(calls)
  const admitted = infos.filter((info) => !info.blocked)
  assert.equal(admitted.length, 100)
  assert.deepEqual(
    admitted.map((info) => info.remaining).sort((a, b) => a - b),
    [...Array(100).keys()],
  )
  const { storeCalls, batches, decisions } = others[0].stats()
  assert.equal(decisions, 250)
  assert.ok(batches < storeCalls, `${storeCalls} decisions in ${batches} round trips`)
})

test('a decision of many checks comes through whole', async () => {
  const actor = somebody()
  const checks = Array.from({ length: 500 }, (_, index) => ({
    limit: bucket({ key: `k${index}`, size: index + 2 }),
    actor,
  }))
  const [infos, info] = await Promise.all([
    Promise.all(checks.map(({ limit }) => limiter.peek(limit, actor))),
    limiter.limitAll(checks),
  ])
  assert.deepEqual(
    info.checks.map(({ key, remaining }) => [key, remaining]),
    checks.map(({ limit }) => [limit.key, limit.size - 1]),
  )
  assert.equal(info.binding, 0)
  assert.equal(infos.length, 500)
})

test('a limit of two rules comes as two answers of one limit', async () => {
  const notes = { key: 'notes', max: 5, duration: 60_000, minInterval: 1000, translation: 'exact' }
  const info = await limiter.limit(notes, somebody(), { now: 0 })
  assert.deepEqual(
    info.checks.map(({ key, remaining }) => [key, remaining]),
    [
      ['notes', 4],
      ['notes', 0],
    ],
  )
  const both = await limiter.limit([bucket({ key: 'b', size: 9 }), notes], somebody(), { now: 0 })
  assert.deepEqual(
    both.checks.map(({ key }) => key),
    ['b', 'notes', 'notes'],
  )
})

test('a denial is remembered, until something is given back here', async () => {
  const limit = bucket({ key: 'denied', size: 1, dripRate: 60_000 })
  const actor = somebody()
  const mine = new Limiter(server.url, { ...patient, denyCacheMs: 60_000 })
  const first = await mine.limit(limit, actor)
  const asked = () => mine.stats().storeCalls
  await mine.limit(limit, actor)
  const before = asked()
  const denials = await Promise.all(Array.from({ length: 50 }, () => mine.limit(limit, actor)))
  assert.ok(denials.every((info) => info.blocked && info.resetMs > 50_000 && !info.degraded))
  assert.deepEqual([asked() - before, mine.stats().denyCacheHits], [0, 50])
  await mine.refund(first)
  assert.equal((await mine.limit(limit, actor)).blocked, false)

  const forgetful = new Limiter(server.url, { ...patient, denyCacheMs: 0 })
  for (let call = 0; call < 3; call++) assert.equal((await forgetful.limit(limit, actor)).blocked, true)
  assert.deepEqual([forgetful.stats().storeCalls, forgetful.stats().denyCacheHits], [3, 0])
})

test('a charge waits for replicas', async () => {
  const slow = bucket({ key: 'slow', size: 4, dripRate: 3_600_000 })
  const [primary, replica] = [await RedisServer.start(), await RedisServer.start()]
  const hasty = new Limiter(primary.url, { timeoutMs: 300, onError: 'raise', waitReplicas: 1 })
  const unreplicated = (error) => error instanceof StoreError && error.failure === 'unreplicated'
  await hasty.peek(slow, 'ada')
  const began = performance.now()
  await assert.rejects(hasty.limit(slow, 'ada'), unreplicated)
  const took = performance.now() - began
  assert.ok(took > 250 && took < 300 + 250, `${took} ms`)
  assert.equal(hasty.stats().failures.unreplicated, 1)
  const mine = new Limiter(primary.url, { ...patient, onError: 'raise', waitReplicas: 1 })
  assert.equal((await mine.peek(slow, 'ada')).remaining, 3, 'it stays charged')
  await primary.command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0')
  await replica.command('REPLICAOF', '127.0.0.1', String(primary.port))
  const first = await mine.limit(slow, 'ada')
  assert.deepEqual([first.remaining, first.degraded], [2, false])
  assert.equal(await replica.command('EXISTS', 'tidegate:{ada}:slow'), ':1\r\n')
  // A replica that has just joined has the first one by its copy, and may be sent nothing more for up to a second: until
  // the primary hears of it again. Who has no more patience than 300 ms may have to wait for that.
  assert.equal((await mine.limit(slow, 'ada')).remaining, 1)
  const info = await hasty.limit(slow, 'ada')
  assert.equal(info.remaining, 0, 'it is asked again')
  await replica.kill()
  await assert.rejects(hasty.refund(info), unreplicated)
  assert.equal((await mine.peek(slow, 'ada')).remaining, 1, 'what was given back stays so too')
  assert.equal((await hasty.refund(info)).remaining, 1, 'and is not given back again')
})

test("scripts and transactions share Sharkey's keys", async () => {
  const limit = bucket({ key: 'notes/create', size: 3, dripRate: 3_600_000 })
  const actor = somebody()
  const scripts = new Limiter(server.url, { ...patient, layout: 'sharkey', denyCacheMs: 0 })
  const transactions = new Limiter(server.url, { ...patient, strategy: 'transactions', denyCacheMs: 0 })
  const answers = []
  for (const mine of [scripts, transactions, scripts, transactions]) answers.push(await mine.limit(limit, actor))
  assert.deepEqual(
    answers.map(({ blocked, remaining, degraded }) => [blocked, remaining, degraded]),
    [
      [false, 2, false],
      [false, 1, false],
      [false, 0, false],
      [true, 0, false],
    ],
  )
})

test('what is not limited asks nobody', async () => {
  const mine = new Limiter(server.url, patient)
  assert.equal((await mine.limit(bucket({ key: 'free', size: 1 }), 'ada', { factor: 0 })).quota, 2 ** 53 - 1)
  await assert.rejects(async () => mine.limit([], 'ada'), /limits must not be empty/)
  assert.equal(mine.stats().storeCalls, 0)
})

test('a twin that would have to wait throws, and changes nothing', async () => {
  const limit = bucket({ key: 'twins', size: 5 })
  const info = await limiter.limit(limit, somebody())
  const twins = {
    limitSync: [limit, 'ada'],
    peekSync: [limit, 'ada'],
    chargeSync: [limit, 'ada'],
    refundSync: [limit, 'ada'],
    settleSync: [info, 0],
    explainSync: [limit, 'ada'],
    resetSync: [limit, 'ada'],
    acquireSync: [limit, 'ada', { now: 0 }],
    limitAllSync: [[{ limit, actor: 'ada' }]],
    peekAllSync: [[{ limit, actor: 'ada' }]],
  }
  for (const [name, args] of Object.entries(twins)) {
    const waits = (error) =>
      error instanceof StoreError && error.failure === 'must-wait' && /promise/.test(error.message)
    assert.throws(() => limiter[name](...args), waits, name)
  }
  assert.throws(() => limiter.refundSync(info), StoreError)
  assert.equal((await limiter.settle(info, 0)).remaining, 5)
})

test('bad input rejects before anything is asked', async () => {
  const mine = new Limiter(server.url, patient)
  const limit = bucket({ key: 'k', size: 5 })
  const refused = (promise, field) =>
    assert.rejects(promise, (error) => error instanceof LimitError && error.field === field, field)
  await refused(mine.limit(limit, 5), 'actor')
  await refused(mine.limit(limit, 'a'.repeat(65_537)), 'actor')
  await refused(mine.limit(limit, 'ada', { cost: 6 }), 'cost')
  await refused(mine.limit(limit, 'ada', { cost: 0.5 }), 'cost')
  await refused(mine.limit(limit, 'ada', { now: -1 }), 'now')
  await refused(mine.limit(limit, 'ada', { factor: Number.NaN }), 'factor')
  await refused(
    mine.limitAll([
      { limit, actor: 'ada' },
      { limit, actor: 5 },
    ]),
    'actor',
  )
  await refused(mine.acquire(limit, 'ada', { maxWaitMs: -1 }), 'maxWaitMs')
  await refused(mine.acquire(limit, 'ada', { cost: 6 }), 'cost')
  await refused(mine.explain(limit, 'ada', { cost: 6 }), 'cost')
  await refused(mine.reset(limit, {}), 'actor')
  await refused(mine.refund(await new Limiter().limit(limit, 'ada')), 'info')
  assert.equal(mine.stats().storeCalls, 0)
})

test('what a call is charged twice for is settled once', async () => {
  const limit = bucket({ key: 'once', size: 10, dripRate: 60_000 })
  const actor = somebody()
  const info = await limiter.limit(limit, actor, { cost: 4 })
  await limiter.limit(limit, actor, { cost: 3 })
  const answers = await Promise.all([limiter.refund(info), limiter.refund(info), limiter.settle(info, 10)])
  assert.deepEqual(
    answers.map((answer) => answer.remaining),
    [7, 7, 7],
  )
  const more = await limiter.charge(limit, actor, { cost: 1 })
  assert.equal((await limiter.settle(more, 3)).remaining, 4)
})

test('close gives the connections up once the calls under way are answered', async () => {
  const before = await server.clients()
  const mine = new Limiter(server.url, patient)
  const limit = bucket({ key: 'closing', size: 500 })
  await mine.limit(limit, 'ada')
  assert.ok((await server.clients()) > before)
  const calls = Array.from({ length: 100 }, () => mine.limit(limit, 'ada'))
  await mine.close()
  await mine.close()
  const infos = await Promise.all(calls)
  assert.ok(infos.every((info) => !info.blocked && !info.degraded))
  await eventually(
    () => server.clients(),
    (clients) => clients <= before,
  )
  for (const call of [() => mine.limit(limit, 'ada'), () => mine.limitAll([]), () => mine.explain(limit, 'ada')])
    await assert.rejects(call(), (error) => error instanceof StoreError && error.failure === 'closed')
  assert.throws(() => mine.stats(), StoreError)
})

test('stats are plain numbers', async () => {
  const mine = new Limiter(server.url, patient)
  const limit = bucket({ key: 'counted', size: 2, dripRate: 60_000 })
  const actor = somebody()
  for (let call = 0; call < 4; call++) await mine.limit(limit, actor)
  const stats = mine.stats()
  assert.deepEqual(JSON.parse(JSON.stringify(stats)), stats)
  const { decisions, admitted, blocked, failed, degraded, denyCacheHits, storeCalls, corruptEntries, breaker } = stats
  assert.deepEqual([decisions, admitted, blocked, failed, degraded], [4, 2, 2, 0, 0])
  assert.deepEqual([denyCacheHits, storeCalls, corruptEntries, breaker], [1, 3, 0, 'closed'])
  assert.deepEqual(new Set(Object.values(stats.failures)), new Set([0]))
  const { buckets, sumMs } = stats.latency
  assert.equal(
    buckets.reduce((sum, { count }) => sum + count, 0),
    3,
  )
  assert.ok(sumMs > 0)
  assert.equal(buckets.at(-1).underMs, null)
  for (let index = 1; index < buckets.length - 1; index++)
    assert.ok(buckets[index].underMs > buckets[index - 1].underMs)
})

test('an entry that cannot be read is written anew, and told of', async () => {
  const mine = new Limiter(server.url, patient)
  const actor = somebody()
  await server.command('SET', `tidegate:{${actor}}:garbage`, 'not an entry')
  assert.equal((await mine.limit(bucket({ key: 'garbage', size: 5 }), actor)).remaining, 4)
  assert.equal(mine.stats().corruptEntries, 1)
})

test('unheeded promises settle too', async () => {
  const mine = new Limiter(server.url, patient)
  const limit = bucket({ key: 'unheeded', size: 1000 })
  const actor = somebody()
  for (let call = 0; call < 100; call++) void mine.limit(limit, actor)
  await eventually(
    () => mine.stats().decisions,
    (decisions) => decisions === 100,
  )
  await sleep(10)
  assert.equal((await mine.peek(limit, actor)).quota, 1000)
})
