/** Waiting for a turn with a shared store, and giving it up. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter, slidingLog } from 'tidegate'
import { Relay } from './relay.mjs'
import { eventually, RedisServer } from './server.mjs'

const server = await RedisServer.start()
const limiter = new Limiter(server.url, { timeoutMs: 10_000, denyCacheMs: 0 })
let actors = 0
const somebody = () => `actor${++actors}`
/** Each call that is admitted takes a minute to drain, so what is charged can be read off. */
const slow = bucket({ key: 'slow', size: 1, dripRate: 60_000 })
const charged = async (actor, limit = slow) => Math.ceil((await limiter.peek(limit, actor)).fullResetMs / 60_000)

test('waits in the order of the calls, and says how long', async () => {
  const paced = bucket({ key: 'paced', size: 1, dripRate: 250 })
  const actor = somebody()
  const order = []
  const infos = await Promise.all(
    [0, 1, 2].map(async (call) => {
      const info = await limiter.acquire(paced, actor)
      order.push(call)
      return info
    }),
  )
  assert.deepEqual(order, [0, 1, 2])
  assert.ok(infos.every((info) => !info.blocked))
  assert.ok(infos[0].waitMs === 0 && infos[2].waitMs > 250 && infos[2].waitMs <= 500, `${infos[2].waitMs}`)
})

test('a wait that is too long is refused at once and charges nothing', async () => {
  const actor = somebody()
  await limiter.acquire(slow, actor)
  const info = await limiter.acquire(slow, actor, { maxWaitMs: 1000 })
  assert.ok(info.blocked && info.waitMs === 0 && info.resetMs > 50_000)
  assert.equal(await charged(actor), 1)
  assert.equal(await charged(actor), 1)
  await limiter.refund(info)
  assert.equal(await charged(actor), 1)
})

test('a turn is a receipt', async () => {
  const actor = somebody()
  const info = await limiter.acquire([slow, bucket({ key: 'beside', size: 5 })], actor)
  assert.deepEqual(
    info.checks.map(({ key, remaining }) => [key, remaining]),
    [
      ['slow', 0],
      ['beside', 4],
    ],
  )
  await limiter.refund(info)
  await limiter.refund(info)
  assert.equal(await charged(actor), 0)
})

test('a log keeps its line, in order of arrival', async () => {
  const log = slidingLog({ key: 'log', max: 2, period: 60 })
  const actor = somebody()
  const order = []
  const infos = await Promise.all(
    [1, 2, 1, 1].map(async (cost, call) => {
      const info = await limiter.acquire(log, actor, { cost })
      order.push(call)
      return info
    }),
  )
  assert.deepEqual(order.slice(0, 2), [0, 1])
  // There is room for the last two together, so neither waits for the timer of the other.
  assert.deepEqual(order.slice(2).sort(), [2, 3])
  assert.ok(infos.every((info) => !info.blocked))
})

test('a signal that is aborted refunds once and rejects with the reason', async () => {
  const actor = somebody()
  await limiter.limit(slow, actor)
  const controller = new AbortController()
  const waiting = limiter.acquire(slow, actor, { signal: controller.signal })
  await eventually(
    () => charged(actor),
    (units) => units === 2,
  )
  const reason = new Error('gone')
  controller.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  controller.abort(new Error('again'))
  await eventually(
    () => charged(actor),
    (units) => units === 1,
  )
  await sleep(50)
  assert.equal(await charged(actor), 1)
})

test('before its time, nothing is charged; after it, nothing is changed', async () => {
  const actor = somebody()
  const early = limiter.acquire(slow, actor, { signal: AbortSignal.abort('early') })
  await assert.rejects(early, (error) => error === 'early')
  assert.equal(await charged(actor), 0)
  const controller = new AbortController()
  assert.equal((await limiter.acquire(slow, actor, { signal: controller.signal })).blocked, false)
  controller.abort('late')
  await sleep(30)
  assert.equal(await charged(actor), 1)
})

/** Blocks the event loop meanwhile: the answers of the store queue up. */
function block(ms) {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('an answer that is on its way already is refunded once', async () => {
  const actors = Array.from({ length: 50 }, somebody)
  const controller = new AbortController()
  const { signal } = controller
  const waiting = actors.map((actor) => limiter.acquire(slow, actor, { signal }))
  const settled = Promise.allSettled(waiting)
  block(200)
  controller.abort('gone')
  assert.deepEqual(new Set((await settled).map(({ reason }) => reason)), new Set(['gone']))
  await eventually(
    async () => (await Promise.all(actors.map((actor) => charged(actor)))).reduce((sum, units) => sum + units, 0),
    (units) => units === 0,
  )
})

test('whenever it is aborted, all that is charged belongs to somebody', async () => {
  const wide = bucket({ key: 'wide', size: 1000, dripRate: 60_000 })
  const actor = somebody()
  let kept = 0
  let gaveUp = 0
  for (let round = 0; round < 300; round++) {
    const controller = new AbortController()
    const waiting = limiter.acquire(wide, actor, { signal: controller.signal }).then(
      () => kept++,
      () => gaveUp++,
    )
    // From before it is sent until after it is answered.
    if (round % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
    else block((round % 50) / 50)
    controller.abort()
    await waiting
  }
  assert.equal(kept + gaveUp, 300)
  assert.ok(gaveUp > 0)
  await eventually(
    () => charged(actor, wide),
    (units) => units === kept,
  )
  await sleep(50)
  assert.equal(await charged(actor, wide), kept)
})

test('closing while calls wait leaves them their turn', async () => {
  const mine = new Limiter(server.url, { timeoutMs: 10_000 })
  const paced = bucket({ key: 'closing', size: 1, dripRate: 60 })
  const actor = somebody()
  await mine.acquire(paced, actor)
  const waiting = mine.acquire(paced, actor)
  await mine.close()
  assert.equal((await waiting).blocked, false)
})

test('giving up after its turn frees nothing of a later call', async () => {
  const paced = bucket({ key: 'late', size: 1, dripRate: 250 })
  for (const mine of [limiter, new Limiter()]) {
    const actor = somebody()
    if (mine !== limiter) await mine.charge(paced, actor)
    const controller = new AbortController()
    const waiting = mine.acquire(paced, actor, { signal: controller.signal })
    const gone = assert.rejects(waiting, (error) => error === 'gone')
    // Its turn comes while the loop is busy, and what it charged drains.
    block(1000)
    const start = performance.now()
    const charged = mine.charge(paced, actor, { cost: 50 })
    block(100)
    controller.abort('gone')
    const before = (await charged).fullResetMs
    await gone
    await sleep(100)
    const after = (await mine.peek(paced, actor)).fullResetMs
    assert.ok(before - after <= performance.now() - start + 1, `${before} became ${after}`)
  }
})

test('a refund that may have happened is not made again', async () => {
  const relay = await Relay.to(server.port)
  const mine = new Limiter(relay.url, { timeoutMs: 1000, onError: 'raise', denyCacheMs: 0 })
  const decided = async (call) => eventually(() => call().catch(() => undefined), Boolean, 20_000)
  const login = bucket({ key: 'login', size: 10, dripRate: 3_600_000 })
  const actor = somebody()
  const info = await decided(() => mine.limit(login, actor, { cost: 4 }))
  await mine.limit(login, actor, { cost: 4 })
  // The server hears of it, and gives back; its answer is lost.
  relay.deaf = true
  await assert.rejects(mine.refund(info), (error) => error.failure === 'timeout' && error.mayHaveHappened)
  relay.deaf = false
  relay.cut()
  assert.equal((await decided(() => mine.refund(info))).remaining, 6)
  assert.equal((await mine.settle(info, 9)).remaining, 6)
})

test('a settlement that did not happen may be tried again', async () => {
  const own = await RedisServer.start()
  const mine = new Limiter(own.url, { timeoutMs: 10_000, onError: 'raise' })
  const login = bucket({ key: 'login', size: 10, dripRate: 3_600_000 })
  const info = await mine.limit(login, 'ada', { cost: 4 })
  await own.command('CONFIG', 'SET', 'maxmemory', '1')
  await assert.rejects(mine.settle(info, 1), (error) => error.failure === 'out-of-memory' && !error.mayHaveHappened)
  await own.command('CONFIG', 'SET', 'maxmemory', '0')
  const settled = await eventually(() => mine.settle(info, 1).catch(() => undefined), Boolean)
  assert.equal(settled.remaining, 9)
})

test('several limits are reset in one round trip', async () => {
  const own = await RedisServer.start()
  const mine = new Limiter(own.url, { timeoutMs: 10_000 })
  const limits = [slow, bucket({ key: 'api', size: 5 }), slidingLog({ key: 'log', max: 3, period: 60_000 })]
  await mine.limit(limits, 'ada')
  const scripts = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await own.command('INFO', 'commandstats'))?.[1] ?? 0)
  const before = await scripts()
  assert.equal(await mine.reset(limits, 'ada'), undefined)
  assert.equal(await scripts(), before + 1)
  const { checks } = await mine.peek(limits, 'ada')
  assert.deepEqual(
    checks.map((check) => check.remaining),
    [1, 5, 3],
  )
})
