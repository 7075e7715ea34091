/** Answers of the stores for other libraries beside those of the libraries' own, and the options of all stores. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStore as ExpressMemory } from 'express-rate-limit'
import { MemoryStore as HonoMemory } from 'hono-rate-limiter'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Limiter } from 'tidegate'
import { RateLimiterService } from 'tidegate/sharkey'
import { Store as ExpressStore } from 'tidegate/stores/express-rate-limit'
import { Store as FastifyStore } from 'tidegate/stores/fastify-rate-limit'
import { Store as HonoStore } from 'tidegate/stores/hono-rate-limiter'
import { Store as NestStore } from 'tidegate/stores/nestjs-throttler'
import { Store as FlexibleStore } from 'tidegate/stores/rate-limiter-flexible'
import { RedisServer } from '../../node/server.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: (options = {}) => new Limiter(options),
  redis: (options = {}) =>
    new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `beside${names++}`, ...options }),
}

for (const [library, Store, Theirs] of [
  ['express', ExpressStore, ExpressMemory],
  ['hono', HonoStore, HonoMemory],
]) {
  for (const [kind, limiterOf] of Object.entries(limiters)) {
    test(`${library}, ${kind}: answers are those of the library's own store`, async (context) => {
      context.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 1_750_000_000_000 })
      const warned = context.mock.method(process, 'emitWarning', () => {})
      const [ours, theirs] = [new Store({ limiter: limiterOf({ clock: () => Date.now() }) }), new Theirs()]
      /** Hits and seconds, of both. */
      const both = async (method, ...given) => {
        const [answer, right] = await Promise.all(
          [ours, theirs].map(async (store) => {
            const hits = await store[method](...given)
            return hits && [hits.totalHits, Math.ceil((hits.resetTime - Date.now()) / 1000) + 0]
          }),
        )
        assert.deepEqual(answer, right, method)
        return answer
      }
      for (const store of [ours, theirs]) store.init({ windowMs: 60_000 })
      assert.deepEqual(await both('increment', 'ada'), [1, 60])
      context.mock.timers.tick(20_000)
      assert.deepEqual(await both('increment', 'ada'), [2, 40])
      // More often than the parts of a hit that stay behind make a hit.
      for (let round = 0; round < 1100; round++) {
        await both('decrement', 'ada')
        await both('decrement', 'ada')
        if (round % 100 === 0) assert.deepEqual(await both('get', 'ada'), [0, 40])
        await both('increment', 'ada')
        await both('increment', 'ada')
      }
      assert.deepEqual(await both('get', 'ada'), [2, 40])
      for (let hit = 0; hit < 2; hit++) await both('decrement', 'bob')
      assert.deepEqual(await both('get', 'bob'), [0, 60])
      assert.deepEqual(await both('increment', 'bob'), [1, 60])
      await both('resetKey', 'ada')
      assert.equal(await both('get', 'ada'), undefined)
      await both('increment', 'ada')
      await both('decrement', 'ada')
      context.mock.timers.tick(60_000)
      assert.deepEqual(await both('increment', 'ada'), [1, 60])
      assert.equal(warned.mock.callCount(), 0)
      for (const windowMs of [-1, 0]) {
        for (const store of [ours, theirs]) store.init({ windowMs })
        for (let hit = 0; hit < 3; hit++) assert.deepEqual(await both('increment', 'eve'), [1, 0])
        await both('decrement', 'eve')
        await both('resetKey', 'eve')
      }
      assert.match(warned.mock.calls[0].arguments[0], /windowMs is -1, so each request is the first of its window/)
      theirs.shutdown()
    })
  }
}

/** The outcome of a call of rate-limiter-flexible: its result, or its rejection. */
async function outcome(promise) {
  const [rejected, res] = await promise.then(
    (res) => [false, res],
    (thrown) => [true, thrown],
  )
  if (!(res instanceof RateLimiterRes)) {
    if (rejected) throw res
    return res
  }
  const { remainingPoints, consumedPoints, msBeforeNext } = res
  return { rejected, remainingPoints, consumedPoints, seconds: Math.ceil(msBeforeNext / 1000) }
}

for (const [kind, limiterOf] of Object.entries(limiters)) {
  const store = (options) => new FlexibleStore({ limiter: limiterOf(), points: 3, duration: 60, ...options })

  test(`rate-limiter-flexible, ${kind}: a window without points lasts until its end, as in the library's own limiter`, async (context) => {
    context.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_750_000_000_000 })
    const limiter = limiterOf({ clock: () => Date.now() })
    const both = [store({ limiter }), new RateLimiterMemory({ points: 3, duration: 60 })]
    for (const [method, points, seconds] of [
      ['consume', 2, 0],
      ['reward', 2, 20],
      ['get', undefined, 20],
      ['consume', 2, 30],
      ['reward', 1, 0],
      ['reward', 1, 0],
      ['penalty', 1, 5],
      ['get', undefined, 0],
      ['get', undefined, 5],
      ['consume', 1, 0],
      ['reward', 1, 10],
      ['get', undefined, 0],
      ['get', undefined, 50],
    ]) {
      context.mock.timers.tick(seconds * 1000)
      const [ours, theirs] = await Promise.all(both.map((limiter) => outcome(limiter[method]('ada', points))))
      assert.deepEqual(ours, theirs, `${method} after ${seconds} s`)
    }
  })

  test(`rate-limiter-flexible, ${kind}: a call behind a block or a set that nobody has awaited finds it, as in the library's own limiter`, async () => {
    for (const limiter of [store({ points: 3 }), new RateLimiterMemory({ points: 3, duration: 60 })]) {
      const rejected = async (key) => {
        const outcomes = await Promise.all(Array.from({ length: 4 }, () => outcome(limiter.consume(key))))
        return outcomes.map(({ rejected }) => rejected)
      }
      const [block, blocked] = [limiter.block('ada', 60), rejected('ada')]
      assert.deepEqual(await blocked, [true, true, true, true])
      await block
      const [longer, still] = [limiter.block('ada', 600), rejected('ada')]
      assert.deepEqual(await still, [true, true, true, true])
      await longer
      const [set, after] = [limiter.set('ada', 1, 60), rejected('ada')]
      assert.deepEqual(await after, [false, false, true, true])
      await set
    }
  })

  test(`rate-limiter-flexible, ${kind}: points may be whole numbers as text, as over the library's own Redis`, async () => {
    const limiter = store({ points: 5 })
    assert.equal((await limiter.consume('ada', '2')).consumedPoints, 2)
    assert.equal((await limiter.penalty('ada', '2')).consumedPoints, 4)
    assert.equal((await limiter.reward('ada', '3')).consumedPoints, 1)
    assert.equal((await limiter.set('ada', '4', 60)).consumedPoints, 4)
    for (const points of ['0', '-1', '1.5', '02', '', 'two', ' 2']) {
      await assert.rejects(limiter.consume('ada', points), { code: 'ERR_LIMIT', field: 'cost' })
    }
  })
}

test('what is not an object of options is refused, rather than counted in memory', () => {
  const limiter = new Limiter()
  for (const make of [
    (options) => new ExpressStore(options),
    (options) => FastifyStore.with(options),
    (options) => new HonoStore(options),
    (options) => new NestStore(options),
    (options) => new FlexibleStore(options),
  ]) {
    for (const given of [[], redis.url, null]) assert.throws(() => make(given), /must be an object/)
    const written = /; write (new Store|Store\.with)\(\{ limiter(, points, duration)? \}\)$/
    for (const [name, given] of [
      ['Limiter', limiter],
      ['URL', new URL(redis.url)],
    ]) {
      assert.throws(() => make(given), { code: 'ERR_LIMIT', field: 'options', value: `a ${name}`, message: written })
      assert.throws(() => make(given), new RegExp(`options must be an object with options, got a ${name};`))
    }
    // Such as an environment variable that is not set.
    const unset = { limiter: undefined, points: 1, duration: 1 }
    const message = /limiter must be a Limiter or the URL of a store; leave it out for memory, got undef/
    assert.throws(() => make(unset), { field: 'limiter', message })
  }
  assert.throws(() => new FastifyStore({ limiter }), /limiter must be given to Store\.with\(\)/)
  assert.throws(() => new RateLimiterService(limiter), /options must be an object/)
})
