/** The stores for other libraries, in those libraries, over real HTTP, in memory and on Redis. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import forFastify from '@fastify/rate-limit'
import { serve } from '@hono/node-server'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { bucket, Limiter } from 'tidegate'
import { Store as ExpressStore } from 'tidegate/stores/express-rate-limit'
import { Store as FastifyStore } from 'tidegate/stores/fastify-rate-limit'
import { Store as HonoStore } from 'tidegate/stores/hono-rate-limiter'
import { RedisServer } from '../../node/server.mjs'
import { get, listening, several } from './apps.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: (options = {}) => new Limiter(options),
  redis: (options = {}) =>
    new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `stores${names++}`, ...options }),
}
const HOUR = 3_600_000

/** An app of each library that admits `limit` requests an hour; `/login` takes back what did not fail. */
const apps = {
  async express({ limiter, limit, prefix }) {
    const app = express()
    const options = { windowMs: HOUR, limit, standardHeaders: 'draft-6', legacyHeaders: false, validate: true }
    const store = () => new ExpressStore({ limiter, prefix })
    app.get('/', rateLimit({ ...options, store: store() }), (_request, response) => response.send('hello'))
    const login = rateLimit({ ...options, skipSuccessfulRequests: true, store: new ExpressStore({ limiter }) })
    app.get('/login', login, (_request, response) => response.send('login'))
    return listening(app.listen(0, '127.0.0.1'))
  },
  async hono({ limiter, limit, prefix }) {
    const app = new Hono()
    const options = { windowMs: HOUR, limit, keyGenerator: () => 'ada' }
    app.get('/', rateLimiter({ ...options, store: new HonoStore({ limiter, prefix }) }), (context) =>
      context.text('hello'),
    )
    const login = rateLimiter({ ...options, skipSuccessfulRequests: true, store: new HonoStore({ limiter }) })
    app.get('/login', login, (context) => context.text('login'))
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
  async fastify({ limiter, limit, prefix }) {
    const app = Fastify({ forceCloseConnections: true })
    const store = FastifyStore.with({ limiter, prefix })
    await app.register(forFastify, { max: limit, timeWindow: HOUR, store, enableDraftSpec: true })
    app.get('/', () => 'hello')
    app.get('/other', { config: { rateLimit: { max: 1 } } }, () => 'other')
    const read = app.createRateLimit()
    app.get('/read', { config: { rateLimit: false } }, (request) => read(request, { increment: false }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    after(() => app.close())
    return `http://127.0.0.1:${app.server.address().port}`
  },
}

const tally = (answers) => answers.filter(({ status }) => status === 200).length

for (const [library, make] of Object.entries(apps)) {
  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${library}, ${kind}: the library's limit and headers, and the end of the window`, async () => {
      const url = await make({ limiter: limiterOf(), limit: 3, prefix: 'p' })
      const answers = await several(5, url)
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 429, 429],
      )
      assert.deepEqual(
        answers.map(({ headers }) => headers.get('ratelimit-remaining')),
        ['2', '1', '0', '0', '0'],
      )
      for (const { headers } of answers) {
        const left = Number(headers.get('ratelimit-reset'))
        assert.ok(left > 3540 && left <= 3600, `${left}`)
      }
    })

    test(`${library}, ${kind}: totals are exact, of two apps with one prefix too`, async () => {
      const limiter = limiterOf()
      const urls = [await make({ limiter, limit: 20, prefix: 'p' }), await make({ limiter, limit: 20, prefix: 'p' })]
      const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => get(urls[index % 2])))
      assert.equal(tally(answers), 20)
    })

    if (library !== 'fastify') {
      test(`${library}, ${kind}: hits are taken back`, async () => {
        const url = await make({ limiter: limiterOf(), limit: 1, prefix: 'p' })
        assert.equal(tally(await several(5, url, '/login')), 5)
      })
    }
  }
}

for (const Store of [ExpressStore, HonoStore]) {
  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${kind}: every method of a store, before init too`, async () => {
      const limiter = limiterOf()
      const store = new Store({ limiter })
      const other = new Store({ limiter })
      assert.notEqual(store.prefix, other.prefix)
      assert.equal(store.localKeys, kind === 'memory')
      const { totalHits, resetTime } = await store.increment('ada')
      assert.equal(totalHits, 1)
      const left = resetTime - Date.now()
      assert.ok(left > 50_000 && left <= 60_000, `${left}`)
      store.init({ windowMs: 60_000 })
      assert.equal((await store.increment('ada')).totalHits, 2)
      assert.equal((await store.get('ada')).totalHits, 2)
      assert.equal(await store.get('bob'), undefined)
      assert.equal((await other.increment('ada')).totalHits, 1)
      await store.decrement('ada')
      assert.equal((await store.get('ada')).totalHits, 1)
      await store.decrement('nobody')
      assert.equal((await store.increment('nobody')).totalHits, 1)
      await store.resetKey('ada')
      assert.equal(await store.get('ada'), undefined)
      assert.equal((await store.get('nobody')).totalHits, 1)
      await store.resetAll()
      assert.equal(await store.get('nobody'), undefined)
      await store.shutdown()
      // A limiter of the caller's stays open.
      assert.equal((await limiter.limit(bucket({ key: 'own', size: 1 }), 'ada')).blocked, false)
    })
  }

  test('a store of its own limiter closes it; wrong options are named', async () => {
    const store = new Store()
    await store.shutdown()
    await assert.rejects(store.increment('ada'), { code: 'ERR_STORE' })
    assert.throws(() => new Store({ limit: 1 }), /limit is not an option of a store/)
    assert.throws(() => new Store({ limiter: 1 }), /limiter must be a Limiter or the URL of a store/)
    assert.throws(() => new Store({ limiter: undefined }), /leave it out for memory, got undefined/)
    assert.throws(() => new Store({ prefix: '' }), /prefix must not be empty/)
    assert.throws(() => store.init({ windowMs: '1' }), /windowMs must be a number/)
  })
}

test('without a server and with `deny`, the libraries refuse', async () => {
  const limiter = () => new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError: 'deny' })
  for (const make of Object.values(apps)) {
    assert.equal((await get(await make({ limiter: limiter(), limit: 3, prefix: 'p' }))).status, 429)
  }
})

test('fastify: a route with settings counts by itself, and reading counts nothing', async () => {
  const url = await apps.fastify({ limiter: new Limiter(), limit: 5, prefix: 'p' })
  assert.deepEqual(
    (await several(2, url, '/other')).map(({ status }) => status),
    [200, 429],
  )
  const read = async () => JSON.parse((await get(url, '/read')).text)
  assert.deepEqual([(await read()).remaining, (await read()).ttl], [5, 0])
  await several(2, url)
  assert.deepEqual([(await read()).remaining, (await read()).remaining], [3, 3])
})

test('fastify: hooks with settings of their own count by themselves, and a group counts together', async () => {
  const app = Fastify()
  await app.register(forFastify, { max: 9, timeWindow: HOUR, store: FastifyStore.with({}) })
  const free = { rateLimit: false }
  app.get('/three', { config: free, preHandler: app.rateLimit({ max: 3 }) }, () => 'three')
  app.get('/five', { config: free, preHandler: app.rateLimit({ max: 5 }) }, () => 'five')
  const check = app.createRateLimit({ max: 7 })
  app.get('/seven', { config: free }, async (request) => (await check(request)).remaining)
  for (const url of ['/send', '/resend']) {
    app.get(url, { config: { rateLimit: { max: 3, groupId: 'otp' } } }, () => 'sent')
  }
  const remaining = async (url) => (await app.inject(url)).headers['x-ratelimit-remaining']
  assert.deepEqual([await remaining('/three'), await remaining('/five'), await remaining('/five')], ['2', '4', '3'])
  assert.equal((await app.inject('/seven')).body, '6')
  assert.deepEqual([await remaining('/send'), await remaining('/resend'), await remaining('/send')], ['2', '1', '0'])
  assert.equal((await app.inject('/resend')).statusCode, 429)
  await app.close()
})

test('fastify: a client that is denied for want of a server is not banned', async () => {
  const app = Fastify()
  const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError: 'deny' })
  const onBanReach = () => assert.fail('banned')
  await app.register(forFastify, { max: 3, ban: 2, onBanReach, store: FastifyStore.with({ limiter }) })
  app.get('/', () => 'hello')
  assert.equal((await app.inject('/')).statusCode, 429)
  await app.close()
})

for (const [kind, limiterOf] of Object.entries(limiters)) {
  test(`fastify, ${kind}: with continueExceeding a window begins anew with each hit over the limit`, async () => {
    let now = 1_750_000_000_000
    const Made = FastifyStore.with({ limiter: limiterOf({ clock: () => now }) })
    const store = new Made({ continueExceeding: true, exponentialBackoff: true })
    const call = (method) =>
      new Promise((resolve, reject) => {
        const callback = (error, result) => (error ? reject(error) : resolve([result.current, result.ttl]))
        store[method]('ada', callback, 1000, 2)
      })
    const together = (count) => Promise.all(Array.from({ length: count }, () => call('incr')))
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await call('incr'), [1, 1000])
      now += 300
      assert.deepEqual(await call('incr'), [2, 700])
      now += 300
      assert.deepEqual(await call('incr'), [3, 1000])
      now += 999
      assert.deepEqual(await call('read'), [3, 1])
      assert.deepEqual(await call('incr'), [4, 1000])
      now += 600
      // Of several at the same time each counts, and the window does not grow.
      assert.deepEqual((await together(5)).map(([current]) => current).sort(), [5, 6, 7, 8, 9])
      assert.deepEqual(await call('read'), [9, 1000])
      // Behind the window nothing is left, not for the first hits over the limit either.
      now += 1000
      assert.deepEqual(await call('read'), [0, 0])
      assert.deepEqual(
        (await together(6)).map(([current]) => current),
        [1, 2, 3, 4, 5, 6],
      )
      assert.deepEqual(await call('read'), [6, 1000])
      now += 1000
    }
  })
}

test('fastify: a window of 0 holds one request', async () => {
  const limiter = new Limiter({ clock: () => 1_750_000_000_000 })
  for (const continueExceeding of [false, true]) {
    const store = new (FastifyStore.with({ limiter }))({ continueExceeding })
    const call = (method, window) =>
      new Promise((resolve, reject) => {
        store[method]('ada', (error, result) => (error ? reject(error) : resolve(result)), window, 1)
      })
    for (let hit = 0; hit < 3; hit++) assert.deepEqual(await call('incr', 0), { current: 1, ttl: 0 })
    assert.deepEqual(await call('read', 0), { current: 0, ttl: 0 })
    await assert.rejects(call('incr', NaN), { code: 'ERR_LIMIT' })
  }
})

test('fastify: windows that grow are refused', async () => {
  const registered = Fastify().register(forFastify, { store: FastifyStore, exponentialBackoff: true })
  await assert.rejects(async () => registered, /exponentialBackoff must not be set with this store/)
})

for (const Store of [ExpressStore, HonoStore]) {
  test('stores of one URL share a limiter, which the last one closes, and have names of their own', async () => {
    const database = Store === HonoStore ? 1 : 2
    const limiter = `${redis.url}/${database}`
    // Of this database: connections of other tests may be closing.
    const clients = async () => (await redis.command('CLIENT', 'LIST')).split(` db=${database} `).length - 1
    const [one, two] = [new Store({ limiter }), new Store({ limiter: new URL(limiter) })]
    assert.equal((await one.increment('ada')).totalHits, 1)
    assert.equal((await two.increment('ada')).totalHits, 1)
    assert.equal(await clients(), 1)
    await one.shutdown()
    await one.shutdown()
    assert.equal((await two.increment('ada')).totalHits, 2)
    await two.shutdown()
    await assert.rejects(two.increment('ada'), { code: 'ERR_STORE' })
    const third = new Store({ limiter })
    assert.equal((await third.increment('ada')).totalHits, 2)
    await third.shutdown()
  })

  test('keys may be numbers', async () => {
    const store = new Store()
    await store.increment(7)
    await store.increment(7n)
    assert.equal((await store.get('7')).totalHits, 2)
    await store.decrement(7)
    assert.equal((await store.get(7)).totalHits, 1)
    await store.resetKey(7)
    assert.equal(await store.get(7), undefined)
    await assert.rejects(store.increment(undefined), /actor must be a string, got undefined/)
  })
}

test('express: two middlewares on the same keys are found, in memory too', async () => {
  const found = []
  const logger = { error: ({ code }) => found.push(code), warn() {} }
  const app = express()
  for (const given of [{ limiter: new Limiter() }, {}]) {
    const store = () => new ExpressStore({ ...given, prefix: 'api' })
    app.get('/', rateLimit({ store: store(), logger }), rateLimit({ store: store(), logger }))
    app.get('/other', rateLimit({ store: new ExpressStore(given), logger }))
  }
  app.use((_request, response) => response.send('hello'))
  const url = await listening(app.listen(0, '127.0.0.1'))
  await get(url, '/other')
  assert.deepEqual(found, [])
  await get(url)
  assert.deepEqual(found, ['ERR_ERL_DOUBLE_COUNT'])
})

test('express: a wrong window is an error of each request, not another window', async () => {
  const app = express()
  const logger = { error() {}, warn() {} }
  app.use(rateLimit({ windowMs: '60000', limit: 1, store: new ExpressStore(), logger }))
  app.use((error, _request, response, _next) => response.status(500).send(error.message))
  const url = await listening(app.listen(0, '127.0.0.1'))
  const { status, text } = await get(url)
  assert.deepEqual([status, text], [500, 'limit "express-rate-limit": windowMs must be a number, got "60000"'])
  for (const windowMs of [NaN, Infinity]) {
    assert.throws(() => new HonoStore().init({ windowMs }), /windowMs must be finite/)
  }
})

test('the same classes through require', () => {
  const require = createRequire(import.meta.url)
  assert.equal(require('tidegate/stores/express-rate-limit').Store, ExpressStore)
  assert.equal(require('tidegate/stores/fastify-rate-limit').Store, FastifyStore)
  assert.equal(require('tidegate/stores/hono-rate-limiter').Store, HonoStore)
})
