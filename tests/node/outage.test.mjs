/** A store that is not there: what calls are answered, how soon, and how it comes back. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter, StoreError } from 'tidegate'
import { eventually, RedisServer } from './server.mjs'

const server = await RedisServer.start()
const DEADLINE_MS = 100
/** The time that a busy machine may add. */
const SLACK_MS = 150
const limit = bucket({ key: 'login', size: 5, dripRate: 60_000 })
let actors = 0
const somebody = () => `actor${++actors}`

const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))

const outages = {
  hangs: { begin: () => server.pause(), end: () => server.resume() },
  'is gone': { begin: () => server.kill(), end: () => server.run() },
}

async function inTime(call) {
  const start = performance.now()
  const outcome = await call().then(
    (info) => ({ info }),
    (error) => ({ error }),
  )
  const took = performance.now() - start
  assert.ok(took <= DEADLINE_MS + SLACK_MS, `${took} ms`)
  return outcome
}

const judged = {
  local(outcomes) {
    // This process alone enforces the limit, and had charged nothing by itself.
    assert.deepEqual(
      outcomes.map(({ info }) => [info.blocked, info.remaining]),
      [4, 3, 2, 1, 0].map((remaining) => [false, remaining]).concat([[true, 0]]),
    )
  },
  allow(outcomes) {
    assert.deepEqual(
      outcomes.map(({ info }) => [info.blocked, info.remaining]),
      Array(6).fill([false, 5]),
    )
  },
  deny(outcomes) {
    assert.deepEqual(
      outcomes.map(({ info }) => [info.blocked, info.resetMs]),
      Array(6).fill([true, 1000]),
    )
  },
  raise(outcomes) {
    for (const { error } of outcomes) {
      assert.ok(error instanceof StoreError && error.code === 'ERR_STORE', String(error))
      const known = ['timeout', 'unavailable', 'unreachable', 'disconnected']
      assert.ok(known.includes(error.failure), error.failure)
      assert.match(error.message, /the store did not decide/)
    }
  },
}

for (const [what, outage] of Object.entries(outages)) {
  for (const [onError, judge] of Object.entries(judged)) {
    test(`a server that ${what}: ${onError}`, async () => {
      const limiter = new Limiter(server.url, { onError })
      const actor = somebody()
      await eventually(
        () => limiter.peek(limit, 'warm').catch(() => undefined),
        (info) => info?.degraded === false,
      )
      const events = []
      for (const name of ['breaker-open', 'breaker-close']) limiter.on(name, (event) => events.push(event))
      const outcomes = []
      try {
        await outage.begin()
        for (let call = 0; call < 6; call++) outcomes.push(await inTime(() => limiter.limit(limit, actor)))
        const many = await Promise.all(
          Array.from({ length: 100 }, () => inTime(() => limiter.limit(limit, somebody()))),
        )
        assert.equal(
          many.filter(({ info, error }) => info?.degraded === true || error instanceof StoreError).length,
          100,
        )
        assert.equal(limiter.stats().breaker, 'open')
        const started = performance.now()
        await limiter.limit(limit, actor).catch(() => {})
        assert.ok(performance.now() - started < DEADLINE_MS / 2, 'a server that failed lately is not waited for')
      } finally {
        await outage.end()
      }
      judge(outcomes)
      assert.ok(outcomes.every(({ info }) => info === undefined || info.degraded))
      await eventually(
        () => limiter.limit(limit, somebody()).catch(() => undefined),
        (info) => info?.degraded === false,
      )
      await eventually(
        async () => events,
        () => events.at(-1)?.name === 'breaker-close',
      )
      assert.equal(events[0].name, 'breaker-open')
      assert.equal(events[0].server, `127.0.0.1:${server.port}`)
      assert.ok(['timeout', 'unreachable', 'disconnected'].includes(events[0].failure), events[0].failure)
      assert.equal(events.at(-1).failure, undefined)
      const { degraded, failed, failures, breaker } = limiter.stats()
      assert.ok(degraded >= 106 && (onError === 'raise') === failed > 0, `${degraded} ${failed}`)
      assert.equal(
        Object.values(failures).reduce((sum, count) => sum + count),
        degraded,
      )
      assert.equal(breaker, 'closed')
      await limiter.close()
    })
  }
}

test('what this process charged by itself is given back to itself', async () => {
  const limiter = new Limiter('redis://127.0.0.1:1')
  const info = await limiter.limit(limit, 'ada', { cost: 4 })
  assert.ok(info.degraded && info.remaining === 1)
  assert.deepEqual([limiter.entries, limiter.evictions], [1, 0])
  assert.equal((await limiter.settle(info, 1)).remaining, 4)
  assert.equal((await limiter.refund(info)).remaining, 4)
  const turn = await limiter.acquire(limit, 'ada', { cost: 4 })
  assert.ok(turn.degraded && turn.remaining === 0)
  const controller = new AbortController()
  const waiting = limiter.acquire(limit, 'ada', { signal: controller.signal })
  await sleep(20)
  controller.abort('gone')
  await assert.rejects(waiting, (error) => error === 'gone')
  await eventually(
    () => limiter.peek(limit, 'ada'),
    (now) => now.fullResetMs <= 300_000,
  )
  assert.equal((await limiter.refund(turn)).remaining, 4)
  await limiter.reset(limit, 'ada')
  assert.equal((await limiter.peek(limit, 'ada')).remaining, 5)
  assert.match(String(await limiter.explain(limit, 'ada')), /all 5 units are free/)
})

test('where nothing is to be made up, everything that asks the store rejects', async () => {
  const limiter = new Limiter('redis://127.0.0.1:1', { onError: 'raise' })
  const checks = [
    { limit, actor: 'ada' },
    { limit, actor: 'eve' },
  ]
  const calls = {
    limit: () => limiter.limit(limit, 'ada'),
    'limit of several': () => limiter.limit([limit, bucket({ key: 'other', size: 2 })], 'ada'),
    peek: () => limiter.peek(limit, 'ada'),
    charge: () => limiter.charge(limit, 'ada'),
    refund: () => limiter.refund(limit, 'ada'),
    acquire: () => limiter.acquire(limit, 'ada'),
    reset: () => limiter.reset([limit, bucket({ key: 'other', size: 2 })], 'ada'),
    explain: () => limiter.explain(limit, 'ada'),
    limitAll: () => limiter.limitAll(checks),
    peekAll: () => limiter.peekAll(checks),
  }
  for (const [name, call] of Object.entries(calls)) {
    const { error } = await inTime(call)
    assert.ok(
      error instanceof StoreError && ['unreachable', 'unavailable'].includes(error.failure),
      `${name}: ${error}`,
    )
  }
})

test('a refund that the store refused can be made again, one that may have been made cannot', async () => {
  const limiter = new Limiter(server.url, { onError: 'raise' })
  await eventually(
    () => limiter.peek(limit, 'warm').catch(() => undefined),
    (info) => info !== undefined,
  )
  const actor = somebody()
  const [one, other] = [await limiter.limit(limit, actor), await limiter.limit(limit, actor)]
  const failsWith = (failure) => (error) => error instanceof StoreError && error.failure === failure
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  try {
    await assert.rejects(limiter.refund(one), failsWith('out-of-memory'))
  } finally {
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
  }
  assert.equal((await limiter.refund(one)).remaining, 4)
  server.pause()
  try {
    await assert.rejects(limiter.refund(other), failsWith('timeout'))
  } finally {
    server.resume()
  }
  const again = await eventually(
    () => limiter.refund(other).catch(() => undefined),
    (answer) => answer !== undefined,
  )
  assert.equal(again.remaining, 4)
})

test('a call that a healthy server refuses is told of once', async () => {
  const limiter = new Limiter(server.url)
  const events = []
  limiter.on('failure', (event) => events.push(event))
  const deaf = () => assert.fail('nobody listens to this any more')
  limiter.on('failure', deaf).off('failure', deaf)
  await limiter.peek(limit, 'warm')
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  try {
    for (let call = 0; call < 5; call++) assert.ok((await limiter.limit(limit, somebody())).degraded)
  } finally {
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
  }
  await eventually(
    async () => events.length,
    (count) => count === 1,
  )
  assert.equal(events[0].failure, 'out-of-memory')
  assert.equal((await limiter.limit(limit, somebody())).degraded, false)
  assert.equal(limiter.stats().failures['out-of-memory'], 5)
})

test('nothing rejects unheard', () => assert.deepEqual(unhandled, []))

test('every outage is told when it begins and when it is over', async () => {
  const limiter = new Limiter(server.url, { timeoutMs: 2000 })
  const told = { degraded: 0, recovered: 0 }
  for (const name of Object.keys(told)) limiter.on(name, () => told[name]++)
  const decides = async () => !(await limiter.limit(limit, somebody())).degraded
  await eventually(decides, Boolean)
  for (const outage of [1, 2]) {
    await server.kill()
    await eventually(async () => !(await decides()) && told.degraded === outage, Boolean)
    await server.run()
    await eventually(async () => (await decides()) && told.recovered === outage, Boolean)
  }
  assert.deepEqual(told, { degraded: 2, recovered: 2 })
})
