/** The storage for @nestjs/throttler, in its guard over real HTTP, in memory and on Redis. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule, ThrottlerStorageService } from '@nestjs/throttler'
import { Limiter } from 'tidegate'
import { Store } from 'tidegate/stores/nestjs-throttler'
import { RedisServer } from '../../node/server.mjs'
import { get, several } from './apps.mjs'
import { decorate } from './decorate.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: (options = {}) => new Limiter(options),
  redis: (options = {}) =>
    new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `throttler${names++}`, ...options }),
}
const platforms = {
  express: () => new ExpressAdapter(),
  fastify: () => new FastifyAdapter({ forceCloseConnections: true }),
}
const HOUR = 3_600_000
const statuses = (answers) => answers.map(({ status }) => status)

async function served(platform, throttlers, storage) {
  class Notes {
    list() {
      return 'notes'
    }
    login() {
      return 'login'
    }
    free() {
      return 'free'
    }
  }
  decorate(Notes, 'list', Get('notes'))
  decorate(Notes, 'login', Get('login'), Throttle({ default: { limit: 1, ttl: HOUR } }))
  decorate(Notes, 'free', Get('free'), SkipThrottle())
  Controller()(Notes)
  class App {}
  Module({
    imports: [ThrottlerModule.forRoot({ throttlers, storage })],
    controllers: [Notes],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App)
  const app = await NestFactory.create(App, platforms[platform](), { logger: false, abortOnError: false })
  await app.listen(0, '127.0.0.1')
  after(() => app.close())
  return `http://127.0.0.1:${app.getHttpServer().address().port}`
}

for (const platform of Object.keys(platforms)) {
  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${platform}, ${kind}: the throttler's limits and headers, in seconds`, async () => {
      const url = await served(platform, [{ ttl: HOUR, limit: 2 }], new Store({ limiter: limiterOf() }))
      const answers = await several(4, url, '/notes')
      assert.deepEqual(statuses(answers), [200, 200, 429, 429])
      assert.deepEqual(
        answers.map(({ headers }) => headers.get('x-ratelimit-remaining')),
        ['1', '0', null, null],
      )
      const within = (value) => assert.ok(Number(value) > 3590 && Number(value) <= 3600, value)
      for (const { headers } of answers.slice(0, 2)) within(headers.get('x-ratelimit-reset'))
      for (const { headers } of answers.slice(2)) within(headers.get('retry-after'))
      assert.deepEqual(statuses(await several(2, url, '/login')), [200, 429])
      assert.deepEqual(statuses(await several(4, url, '/free')), [200, 200, 200, 200])
    })

    test(`${platform}, ${kind}: totals are exact, of two apps with one prefix too`, async () => {
      const limiter = limiterOf()
      const app = () => served(platform, [{ ttl: HOUR, limit: 20 }], new Store({ limiter, prefix: 'p' }))
      const urls = [await app(), await app()]
      const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => get(urls[index % 2], '/notes')))
      assert.equal(statuses(answers).filter((status) => status === 200).length, 20)
    })
  }
}

for (const [kind, limiterOf] of Object.entries(limiters)) {
  test(`${kind}: answers are those of the throttler's own storage`, async () => {
    const theirs = new ThrottlerStorageService()
    const ours = new Store({ limiter: limiterOf() })
    after(() => theirs.onApplicationShutdown())
    for (const [ttl, limit, blockDuration, name] of [
      [60_000, 2, 60_000, 'default'],
      [60_000, 2, 600_000, 'long'],
      [60_000, 2, 5000, 'short'],
      [61_500, 1, 61_500, 'odd'],
    ]) {
      for (let hit = 0; hit < limit + 3; hit++) {
        const given = [name, ttl, limit, blockDuration, name]
        const [answer, expected] = [await ours.increment(...given), await theirs.increment(...given)]
        // Without a block, theirs has a negative number of seconds.
        if (!expected.isBlocked) expected.timeToBlockExpire = 0
        // After a block that is shorter than its window, the window has gone as well.
        if (name === 'short' && hit > limit) expected.timeToExpire = answer.timeToExpire
        if (name !== 'default') delete expected.timeToExpire
        for (const field of Object.keys(expected))
          assert.equal(answer[field], expected[field], `${name} ${hit} ${field}`)
      }
    }
  })

  test(`${kind}: a block ends, and the client begins anew`, async () => {
    const store = new Store({ limiter: limiterOf() })
    const hit = () => store.increment('key', 60_000, 1, 500, 'default')
    assert.equal((await hit()).isBlocked, false)
    assert.deepEqual([(await hit()).isBlocked, (await hit()).isBlocked], [true, true])
    await new Promise((resolve) => setTimeout(resolve, 520))
    const { totalHits, isBlocked } = await hit()
    assert.deepEqual([totalHits, isBlocked], [1, false])
  })

  test(`${kind}: a block is as long as it should be, the second one and that of a lowered limit too`, async () => {
    let now = 1_750_000_000_000
    const limiter = limiterOf({ clock: () => now })
    const store = new Store({ limiter })
    const hit = (limit) => store.increment('key', 1000, limit, 1000, 'default')
    for (let round = 0; round < 3; round++) {
      assert.equal((await hit(3)).isBlocked, false)
      assert.equal((await hit(3)).isBlocked, false)
      // Two more than the limit of this request.
      assert.equal((await hit(1)).timeToBlockExpire, 1)
      now += 999
      assert.deepEqual(await hit(3), { totalHits: 4, timeToExpire: 1, isBlocked: true, timeToBlockExpire: 1 })
      now += 1
    }
  })

  test(`${kind}: of hits at the same time one blocks`, async () => {
    const store = new Store({ limiter: limiterOf() })
    const hit = () => store.increment('key', 60_000, 1, 90_000, 'default')
    await Promise.all(Array.from({ length: 9 }, hit))
    assert.deepEqual([(await hit()).isBlocked, (await hit()).timeToBlockExpire], [true, 90])
  })

  test(`${kind}: requests that do not last in the store are never too many`, async () => {
    const store = new Store({ limiter: limiterOf({ clock: () => 1_750_000_000_000 }) })
    const theirs = new ThrottlerStorageService()
    after(() => theirs.onApplicationShutdown())
    for (const blockDuration of [0, 60_000]) {
      for (let hit = 0; hit < 3; hit++) {
        const given = ['key', 0, 1, blockDuration, 'default']
        const answer = await theirs.increment(...given)
        // A millisecond later its time to expire is -0.
        const expected = { ...answer, timeToExpire: answer.timeToExpire + 0, timeToBlockExpire: 0 }
        assert.deepEqual(await store.increment(...given), expected)
      }
    }
    assert.equal((await store.increment('key', 0, 0, 0, 'default')).isBlocked, true)
  })

  test(`${kind}: without a block, refusals end with the window`, async () => {
    const store = new Store({ limiter: limiterOf() })
    const hit = () => store.increment('key', 500, 1, 0, 'default')
    assert.equal((await hit()).isBlocked, false)
    const refused = await hit()
    assert.deepEqual([refused.isBlocked, refused.timeToBlockExpire], [true, 1])
    await new Promise((resolve) => setTimeout(resolve, 520))
    assert.equal((await hit()).isBlocked, false)
  })
}

test('without a server, `deny` refuses and `allow` admits', async () => {
  for (const [onError, isBlocked] of [
    ['deny', true],
    ['allow', false],
  ]) {
    const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError })
    const answer = await new Store({ limiter }).increment('key', 1000, 5, 1000, 'default')
    assert.equal(answer.isBlocked, isBlocked)
  }
})

test('options are checked; a limiter of its own is closed with the app', async () => {
  assert.throws(() => new Store({ max: 1 }), /max is not an option of a store/)
  const store = new Store()
  await store.onApplicationShutdown()
  await assert.rejects(store.increment('key', 1000, 5, 1000, 'default'), { code: 'ERR_STORE' })
})

test('the same class through require', () => {
  assert.equal(createRequire(import.meta.url)('tidegate/stores/nestjs-throttler').Store, Store)
})
