/** The limiter for rate-limiter-flexible, in each of its wrappers and beside its own limiter, in memory and on Redis. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  RateLimiterRes,
  RateLimiterUnion,
  RLWrapperBlackAndWhite,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible'
import { Limiter } from 'tidegate'
import { Store } from 'tidegate/stores/rate-limiter-flexible'
import { RedisServer } from '../../node/server.mjs'

const redis = await RedisServer.start()
let names = 0
const limiters = {
  memory: () => new Limiter(),
  redis: () => new Limiter(redis.url, { timeoutMs: 5000, onError: 'raise', namespace: `rlf${names++}` }),
}

/** The outcome of a call: its result, or its rejection. */
async function outcome(promise) {
  const [rejected, res] = await promise.then(
    (res) => [false, res],
    (thrown) => [true, thrown],
  )
  if (!(res instanceof RateLimiterRes)) {
    if (rejected) throw res
    return res
  }
  const { remainingPoints, consumedPoints, isFirstInDuration, msBeforeNext } = res
  return { rejected, remainingPoints, consumedPoints, isFirstInDuration, seconds: Math.ceil(msBeforeNext / 1000) }
}

const rejection = (promise) =>
  promise.then(
    () => assert.fail('it was not refused'),
    (thrown) => thrown,
  )

for (const [kind, limiterOf] of Object.entries(limiters)) {
  const store = (options) => new Store({ limiter: limiterOf(), points: 3, duration: 60, ...options })

  for (const [name, options, calls] of [
    [
      'a window',
      {},
      [['consume'], ['consume', 2], ['consume'], ['get'], ['consume', 5], ['delete'], ['get'], ['delete']],
    ],
    [
      'penalties and rewards',
      {},
      [['penalty', 4], ['consume'], ['reward', 4], ['consume'], ['consume', 1], ['consume']],
    ],
    ['rewards down to none, without an end', { duration: 0 }, [['consume'], ['reward'], ['get'], ['consume'], ['get']]],
    ['a block', {}, [['consume'], ['block', 20], ['get'], ['delete'], ['consume'], ['block', 0], ['get']]],
    ['a block by the limit', { blockDuration: 300 }, [['consume', 3], ['get'], ['consume'], ['get']]],
    ['a short block by the limit', { blockDuration: 5 }, [['consume', 3], ['consume', 2], ['get']]],
    [
      'points that are set',
      {},
      [['set', 2, 60], ['get'], ['consume'], ['consume'], ['set', 1, 600], ['get'], ['consume']],
    ],
    [
      'points that are set for a short time',
      {},
      [['consume', 3], ['set', 1, 5], ['consume', 2], ['reward', 1], ['get']],
    ],
    [
      'set points, and those used since, end together',
      { duration: 0.5 },
      [['set', 1, 60], ['consume'], ['consume'], ['wait', 550], ['get'], ['consume'], ['get']],
    ],
    ['too many points that are set', {}, [['set', 7, 600], ['get'], ['set', 1, 30], ['consume']]],
    [
      'no points that are set',
      {},
      [['set', 0, 60], ['get'], ['delete'], ['set', 0, 60], ['consume'], ['wait', 20], ['delete'], ['get']],
    ],
    ['many points', { points: 9e8 }, [['consume', 5e8], ['consume', 5e8], ['consume'], ['consume', 2e9], ['get']]],
    ['more points', { points: 5e9 }, [['consume', 3e9], ['set', 4e9, 600], ['consume', 1e9], ['consume', 1], ['get']]],
    ['no end', { duration: 0 }, [['consume'], ['get'], ['consume', 2], ['consume'], ['delete'], ['get']]],
    [
      'a duration of the call',
      {},
      [
        ['consume', 1, { customDuration: 5 }],
        ['get', { customDuration: 5 }],
        ['delete', { customDuration: 5 }],
      ],
    ],
    [
      'a duration of the call that is longer',
      { duration: 0.1 },
      [
        ['consume', 1, { customDuration: 5 }],
        ['wait', 120],
        ['delete', { customDuration: 5 }],
        ['get', { customDuration: 5 }],
      ],
    ],
  ]) {
    test(`${kind}: ${name}, as the library's own limiter does it`, async () => {
      const [ours, theirs] = [store(options), new RateLimiterMemory({ points: 3, duration: 60, ...options })]
      for (const [method, ...given] of calls) {
        if (method === 'wait') {
          await new Promise((resolve) => setTimeout(resolve, ...given))
          continue
        }
        const [answer, expected] = [
          await outcome(ours[method]('ada', ...given)),
          await outcome(theirs[method]('ada', ...given)),
        ]
        // Theirs says 0 remaining points of any that were set.
        if (method === 'set' || method === 'block') expected.remainingPoints = answer.remainingPoints
        // Its stores differ in whether the first action after none that were set is the first of its duration.
        if (method === 'consume' && answer.consumedPoints === (given[0] ?? 1)) {
          expected.isFirstInDuration = answer.isFirstInDuration
        }
        // Its stores differ in whether a block is the first of its duration.
        if (expected?.rejected) expected.isFirstInDuration = false
        // Theirs was asked a little later.
        if (Math.abs(answer?.seconds - expected?.seconds) <= 3) expected.seconds = answer.seconds
        assert.deepEqual(answer, expected, `${method}(${given.join()})`)
      }
      assert.equal(await ours.get('bob'), null)
    })
  }

  test(`${kind}: of actions at the same time one blocks, for no longer than it should`, async () => {
    const limiter = store({ points: 1, blockDuration: 5 })
    await Promise.all(Array.from({ length: 9 }, () => outcome(limiter.consume('ada'))))
    await Promise.all([limiter.block('bob', 5), limiter.block('bob', 5)])
    for (const key of ['ada', 'bob']) assert.equal((await outcome(limiter.consume(key))).seconds, 5)
  })

  test(`${kind}: of points that are set at the same time one number stays, for its own time`, async () => {
    for (const seconds of [60, 5, 600]) {
      const limiter = store({ points: 9 })
      await limiter.consume('ada', 3)
      await Promise.all(Array.from({ length: 5 }, () => limiter.set('ada', 2, seconds)))
      const { consumedPoints, msBeforeNext } = await limiter.get('ada')
      assert.deepEqual([consumedPoints, Math.ceil(msBeforeNext / 1000)], [2, seconds])
      await Promise.all([limiter.set('ada', 1, 30), limiter.set('ada', 4, 20)])
      const { consumedPoints: points, msBeforeNext: left } = await limiter.get('ada')
      assert.deepEqual([points, Math.ceil(left / 1000)], points === 1 ? [1, 30] : [4, 20])
    }
  })

  test(`${kind}: of blocks at the same time nothing stays behind`, async () => {
    const limiter = store({ points: 1 })
    await Promise.all([limiter.block('ada', 0.3), limiter.block('ada', 0.3)])
    await new Promise((resolve) => setTimeout(resolve, 330))
    assert.equal(await limiter.get('ada'), null)
  })

  test(`${kind}: a wrong call leaves the points as they are`, async () => {
    const limiter = store({ points: 2.5 })
    await limiter.consume('ada', 2)
    const wrong = (method, ...given) => assert.rejects(limiter[method]('ada', ...given), { code: 'ERR_LIMIT' }, method)
    for (const points of [0.5, NaN, '1.5', 2e11]) await wrong('set', points, 60)
    for (const seconds of [undefined, null, -1, '10']) await wrong('block', seconds)
    await wrong('consume', 1, { customDuration: '5' })
    for (const points of [-1, 0.5, NaN, '1.5']) {
      for (const method of ['consume', 'penalty', 'reward']) await wrong(method, points)
      await assert.rejects(limiter.reward('nobody', points), { code: 'ERR_LIMIT' })
    }
    assert.equal((await limiter.get('ada', null)).consumedPoints, 2)
    assert.equal((await limiter.set('bob', 1, null)).msBeforeNext, 60_000)
    assert.equal((await limiter.set('bob', -1, 60)).consumedPoints, 0)
    assert.deepEqual(await outcome(limiter.consume('eve', 1, { customDuration: null })), {
      rejected: false,
      remainingPoints: 1.5,
      consumedPoints: 1,
      isFirstInDuration: true,
      seconds: 60,
    })
    assert.equal((await limiter.block('eve', 10)).consumedPoints, 3)
    assert.equal((await limiter.penalty('eve', 3)).isFirstInDuration, false)
  })

  test(`${kind}: totals are exact`, async () => {
    const limiter = limiterOf()
    const [one, two] = [1, 2].map(
      () => new Store({ limiter, keyPrefix: 'p', points: 20, duration: 60, blockDuration: 900 }),
    )
    const calls = Array.from({ length: 50 }, (_, index) => outcome((index % 2 ? one : two).consume('ada')))
    const results = await Promise.all(calls)
    assert.equal(results.filter(({ rejected }) => !rejected).length, 20)
    assert.ok((await outcome(one.consume('ada'))).seconds > 800)
  })

  test(`${kind}: a block ends, and the key begins anew`, async () => {
    const limiter = store({ points: 1, duration: 30, blockDuration: 0.5 })
    await limiter.consume('ada')
    assert.equal((await rejection(limiter.consume('ada'))).msBeforeNext, 500)
    await new Promise((resolve) => setTimeout(resolve, 520))
    assert.equal((await limiter.consume('ada')).isFirstInDuration, true)
  })

  test(`${kind}: black and white lists`, async () => {
    const wrapped = new RLWrapperBlackAndWhite({
      limiter: store({ points: 1 }),
      blackList: ['eve'],
      whiteList: ['root'],
    })
    assert.equal((await wrapped.consume('ada')).remainingPoints, 0)
    assert.ok((await rejection(wrapped.consume('ada'))) instanceof RateLimiterRes)
    assert.equal((await rejection(wrapped.consume('eve'))).msBeforeNext, Number.MAX_SAFE_INTEGER)
    for (let call = 0; call < 3; call++) await wrapped.consume('root')
    assert.deepEqual([wrapped.keyPrefix, wrapped.blockDuration, wrapped.execEvenly], ['rlflx', 0, false])
    assert.equal((await wrapped.penalty('bob', 2)).consumedPoints, 2)
    assert.equal((await wrapped.reward('bob')).consumedPoints, 1)
    assert.equal((await wrapped.set('bob', 1, 60)).consumedPoints, 1)
    assert.equal((await wrapped.get('bob')).consumedPoints, 1)
    assert.equal((await wrapped.block('bob', 7)).msBeforeNext, 7000)
    assert.equal(await wrapped.delete('bob'), true)
  })

  test(`${kind}: a union`, async () => {
    const limiter = limiterOf()
    const second = new Store({ limiter, keyPrefix: 'second', points: 1, duration: 10 })
    const minute = new Store({ limiter, keyPrefix: 'minute', points: 5, duration: 60 })
    const union = new RateLimiterUnion(second, minute)
    const admitted = await union.consume('ada')
    assert.deepEqual([admitted.second.remainingPoints, admitted.minute.remainingPoints], [0, 4])
    const refused = await rejection(union.consume('ada'))
    assert.deepEqual(Object.keys(refused), ['second'])
    assert.ok(refused.second instanceof RateLimiterRes)
  })

  test(`${kind}: bursts`, async () => {
    const limiter = limiterOf()
    const options = { limiter, points: 1, duration: 60 }
    const bursty = new BurstyRateLimiter(
      new Store({ ...options, keyPrefix: 'rate' }),
      new Store({ limiter, keyPrefix: 'burst', points: 2, duration: 600 }),
    )
    assert.equal(bursty.points, 1)
    const answers = []
    for (let call = 0; call < 4; call++) answers.push((await outcome(bursty.consume('ada'))).rejected)
    assert.deepEqual(answers, [false, false, false, true])
    assert.ok((await bursty.get('ada')).msBeforeNext <= 60_000)
  })

  test(`${kind}: a queue`, async () => {
    const queue = new RateLimiterQueue(store({ points: 1, duration: 0.2 }), { maxQueueSize: 2 })
    const start = performance.now()
    const removed = [1, 2, 3].map(() => queue.removeTokens(1))
    await assert.rejects(queue.removeTokens(1), /maximum 2/)
    assert.deepEqual(await Promise.all(removed), [0, 0, 0])
    assert.ok(performance.now() - start >= 390)
    await assert.rejects(queue.removeTokens(2), /exceeds maximum 1/)
    assert.equal(await queue.getTokensRemaining('other'), 1)
  })

  test(`${kind}: actions that are spread`, async () => {
    const limiter = store({ points: 4, duration: 0.4, execEvenly: true })
    const start = performance.now()
    await limiter.consume('ada')
    await limiter.consume('ada')
    const waited = performance.now() - start
    assert.ok(waited >= 75, `${waited}`)
  })

  test(`${kind}: the insurance of a limiter whose server is gone`, async () => {
    const insuranceLimiter = store({ points: 1, keyPrefix: 'insurance' })
    const storeClient = { multi: () => assert.fail('gone'), rlflxIncr: () => Promise.reject(new Error('gone')) }
    const theirs = new RateLimiterRedis({
      storeClient: Object.assign(storeClient, { defineCommand() {}, status: 'end' }),
      points: 5,
      duration: 60,
      blockDuration: 3,
      insuranceLimiter,
    })
    assert.equal(insuranceLimiter.blockDuration, 3)
    assert.equal((await theirs.consume('ada')).consumedPoints, 1)
    assert.equal((await rejection(theirs.consume('ada'))).msBeforeNext, 3000)
  })
}

test('an insurance for it, where its server is gone', async () => {
  const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError: 'raise' })
  const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 })
  const wrapped = new RLWrapperTimeouts({
    limiter: new Store({ limiter, points: 5, duration: 60 }),
    insuranceLimiter,
    timeoutMs: 1000,
  })
  assert.equal((await wrapped.consume('ada')).consumedPoints, 1)
  assert.ok((await rejection(wrapped.consume('ada'))) instanceof RateLimiterRes)
})

test('without a server, `deny` refuses and `allow` admits', async () => {
  for (const [onError, rejected] of [
    ['deny', true],
    ['allow', false],
  ]) {
    const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 50, onError })
    assert.equal((await outcome(new Store({ limiter, points: 5, duration: 60 }).consume('ada'))).rejected, rejected)
  }
})

test('options are checked; a limiter of its own is closed', async () => {
  const made = (options) => new Store({ points: 1, duration: 1, ...options })
  assert.throws(() => new Store(), /options must be an object, got undefined/)
  assert.throws(() => made({ points: '5' }), /points must be a number/)
  assert.throws(() => made({ points: 2e11 }), /points must be at most 100000000000, got 200000000000/)
  assert.throws(() => made({ duration: -1 }), /duration must be finite and not negative/)
  assert.throws(
    () => made({ duration: 1e11 }),
    /duration must be at most 100 years, and 0 has no end, got 100000000000/,
  )
  assert.throws(() => made({ execEvenly: 'yes' }), /execEvenly must be a boolean, got "yes"/)
  assert.throws(() => made({ execEvenlyMinDelayMs: '20' }), /execEvenlyMinDelayMs must be a number, got "20"/)
  assert.throws(() => made({ storeClient: {} }), /storeClient is not an option of a limiter/)
  assert.throws(() => made({ limiter: undefined }), /limiter must be a Limiter .*, got undefined/)
  assert.throws(() => made({ keyPrefix: '' }), /keyPrefix must not be empty/)
  const limiter = new Limiter()
  assert.deepEqual([made({ limiter }).keyPrefix, made({ limiter }).keyPrefix], ['rlflx', 'rlflx-2'])
  const own = made()
  await own.close()
  await assert.rejects(own.consume('ada'), { code: 'ERR_STORE' })
  await assert.rejects(made().consume('ada', 0.5), { code: 'ERR_LIMIT' })
})

test('options are changed while it runs, and checked then too', async () => {
  const limiter = new Store({ points: 0, duration: 60 })
  assert.equal((await outcome(limiter.consume('ada'))).rejected, true)
  limiter.points = 2
  limiter.duration = 5
  assert.deepEqual([limiter.points, limiter.duration], [2, 5])
  assert.equal((await limiter.consume('bob')).msBeforeNext, 5000)
  limiter.points = -1
  assert.equal((await outcome(limiter.consume('eve'))).rejected, true)
  assert.throws(() => (limiter.points = NaN), /points must be finite/)
  assert.throws(() => (limiter.duration = 1e11), /duration must be at most 100 years/)
  assert.throws(() => (limiter.duration = -1), /duration must be finite and not negative/)
})

test('the same class through require', () => {
  assert.equal(createRequire(import.meta.url)('tidegate/stores/rate-limiter-flexible').Store, Store)
})
