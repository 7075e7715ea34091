/** Holds: units that are taken, renewed and released, in memory and over Redis. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BlockedError, concurrency, LimitError, Limiter, StoreError, tokenBucket } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const exports = concurrency({ key: 'exports', max: 1, lease: 60_000 })
const short = concurrency({ key: 'short', max: 1, lease: 1200 })
const rows = tokenBucket({ key: 'rows', count: 100, period: 3_600_000 })

let names = 0
const stores = {
  'in memory': () => new Limiter(),
  'over Redis': () => new Limiter(server.url, { namespace: `holds-${names++}`, timeoutMs: 10_000, onError: 'raise' }),
}

for (const [where, open] of Object.entries(stores)) {
  const free = async (limiter, limit = exports) => (await limiter.peek(limit, 'ada')).remaining

  test(`what is held is released once, ${where}`, async () => {
    const limiter = open()
    const held = await limiter.hold([exports, rows], 'ada', { costs: [1, 40] })
    assert.deepEqual([held.info.checks.length, held.lost, held.signal.aborted], [2, false, false])
    await assert.rejects(limiter.hold(exports, 'ada'), (error) => {
      assert.ok(error instanceof BlockedError && error.info.blocked)
      assert.deepEqual([error.code, error.retryAfterMs], ['ERR_BLOCKED', error.info.resetMs])
      return true
    })
    const [first, second] = await Promise.all([held.release(), held.release()])
    assert.equal(first, second)
    assert.deepEqual([await free(limiter), await free(limiter, rows)], [1, 60])
    await limiter.close()
  })

  test(`a hold lasts as long as its work, also where that fails, ${where}`, async () => {
    const limiter = open()
    const result = await limiter.hold(exports, 'ada', null, async (held) => {
      assert.equal(held.lost, false)
      return free(limiter)
    })
    assert.equal(result, 0)
    const failed = new Error('the work failed')
    await assert.rejects(
      limiter.hold(exports, 'ada', {}, () => {
        throw failed
      }),
      failed,
    )
    assert.equal(await free(limiter), 1)
    const held = await limiter.hold(exports, 'ada')
    await held[Symbol.asyncDispose]()
    assert.equal(await free(limiter), 1)
    await limiter.close()
  })

  test(`the actual costs are settled at the end, ${where}`, async () => {
    for (const [costs, left] of [
      [15, 85],
      [[9, 25], 75],
      [{ rows: 35 }, 65],
      [{ 1: 45 }, 55],
    ]) {
      const limiter = open()
      const held = await limiter.hold([exports, rows], 'ada', { costs: [1, 40] })
      held.settle(7)
      held.settle(costs)
      assert.equal(await free(limiter, rows), 60, 'not before the end')
      await held.release()
      assert.deepEqual([await free(limiter), await free(limiter, rows)], [1, left])
      await limiter.close()
    }
  })

  test(`what is held is renewed, with all that its receipt gives back, ${where}`, async () => {
    const limiter = open()
    const held = await limiter.hold([short, rows], 'ada', { costs: [1, 40] })
    await sleep(2000)
    assert.deepEqual([held.lost, await free(limiter, short)], [false, 0])
    held.settle({ rows: 10 })
    await held.release()
    assert.deepEqual([await free(limiter, short), await free(limiter, rows)], [1, 90])
    await limiter.close()
  })

  test(`a hold says when it is lost, ${where}`, async () => {
    const limiter = open()
    const held = await limiter.hold(short, 'ada')
    const aborted = new Promise((resolve) => held.signal.addEventListener('abort', resolve))
    await limiter.reset(short, 'ada')
    await aborted
    assert.equal(held.lost, true)
    assert.match(held.signal.reason.message, /this hold of "short" is lost/)
    await held.release()
    await limiter.close()
  })

  test(`by hand, and no answer twice, ${where}`, async () => {
    const limiter = open()
    const info = await limiter.limitAll([
      { limit: rows, actor: 'ada', cost: 30 },
      { limit: exports, actor: 'ada' },
    ])
    const renewed = await limiter.renew(info)
    assert.deepEqual([renewed.blocked, renewed.key, renewed.checks.length], [false, 'exports', 1])
    assert.equal((await limiter.refund(info)).blocked, true, 'it is used')
    assert.equal(await free(limiter, rows), 70)
    await limiter.refund(await limiter.renew(renewed))
    assert.deepEqual([await free(limiter), await free(limiter, rows)], [1, 100])
    await limiter.close()
  })
}

test('a hold that waits is given up with its signal', async () => {
  for (const open of Object.values(stores)) {
    const limiter = open()
    const held = await limiter.hold(exports, 'ada')
    const stop = new AbortController()
    const waits = limiter.hold(exports, 'ada', { maxWaitMs: 120_000, signal: stop.signal })
    setTimeout(() => stop.abort(new Error('enough')), 30)
    await assert.rejects(waits, /enough/)
    await held.release()
    assert.equal((await limiter.peek(exports, 'ada')).remaining, 1)
    await assert.rejects(limiter.hold(exports, 'ada', { signal: AbortSignal.abort(new Error('before')) }), /before/)
    assert.equal((await limiter.peek(exports, 'ada')).remaining, 1)
    await limiter.close()
  }
})

test('what cannot be held is refused, and nothing is stored', async () => {
  const limiter = new Limiter()
  const refused = (promise, message) =>
    assert.rejects(promise, (error) => {
      assert.ok(error instanceof LimitError, error)
      assert.match(error.message, message)
      return true
    })
  await refused(limiter.hold(rows, 'ada'), /limit "rows": limits must hold one of type concurrency/)
  await refused(limiter.hold([exports, rows], 'ada', { costs: [1] }), /costs must be a list of one cost for each limit/)
  await refused(limiter.hold([exports, rows], 'ada', { costs: [1, -1] }), /limit "rows": cost must be at least 0/)
  await refused(limiter.hold([exports, rows], 'ada', { costs: 'one' }), /costs must be an array of numbers/)
  await refused(limiter.hold(exports, 'ada', { maxWait: 5 }), /maxWait is not an option/)
  await refused(limiter.hold(exports, 'ada', {}, 5), /work must be a function/)
  await refused(
    limiter.release(await limiter.limit(rows, 'bob')),
    /info must be the answer to a call of limits of type/,
  )
  await refused(limiter.renew({ blocked: false }), /info must be the answer that a call of this limiter gave/)
  assert.equal(limiter.entries, 1)
  const held = await limiter.hold([exports, rows], 'ada')
  for (const [costs, message] of [
    [[1], /1 costs for 2 checks/],
    [{ other: 1 }, /costs must name checks of the hold/],
    [{ rows: '1' }, /costs must be a number, an array of numbers/],
    [Number.NaN, /limit "rows": cost must be at least 0/],
    [null, /costs must be a number/],
  ]) {
    assert.throws(() => held.settle(costs), message)
  }
  await held.release()
})

test('a closed limiter neither renews nor releases', async () => {
  const limiter = new Limiter()
  const held = await limiter.hold(exports, 'ada')
  await limiter.close()
  await assert.rejects(held.release(), StoreError)
})

test('who waits in memory is woken in order, within the same iteration of the event loop', async () => {
  const limiter = new Limiter()
  const woken = []
  const held = await limiter.hold(exports, 'ada')
  const waits = [0, 1, 2].map((number) =>
    limiter.hold(exports, 'ada', { maxWaitMs: 30_000 }, () => {
      woken.push(number)
    }),
  )
  await sleep(20)
  assert.deepEqual(woken, [])
  const timer = new Promise((resolve) => setImmediate(resolve))
  await held.release()
  await Promise.all(waits)
  assert.deepEqual(woken, [0, 1, 2])
  await timer
})

test('whatever releases units wakes who waits', async () => {
  const two = concurrency({ key: 'two', max: 2, lease: 60_000 })
  const ends = {
    release: (limiter, info) => limiter.release(info),
    refund: (limiter, info) => limiter.refund(info),
    units: (limiter) => limiter.refund(two, 'ada', { cost: 2 }),
    reset: (limiter) => limiter.reset(two, 'ada'),
    clear: (limiter) => limiter.clear(),
  }
  for (const open of Object.values(stores)) {
    for (const end of Object.values(ends)) {
      const limiter = open()
      const info = await limiter.limit(two, 'ada', { cost: 2 })
      const waits = limiter.acquire(two, 'ada', { maxWaitMs: 30_000 })
      await sleep(50)
      await end(limiter, info)
      assert.equal((await waits).blocked, false)
      await limiter.close()
    }
    // One that asks for more than there is gives up.
    const limiter = open()
    await limiter.limit(two, 'ada')
    const stop = new AbortController()
    const more = limiter.acquire(two, 'ada', { cost: 2, maxWaitMs: 30_000, signal: stop.signal })
    await sleep(50)
    const waits = limiter.acquire(two, 'ada', { maxWaitMs: 30_000 })
    await sleep(50)
    stop.abort(new Error('enough'))
    await assert.rejects(more, /enough/)
    assert.equal((await waits).blocked, false)
    await limiter.close()
  }
})

test('a wait ends in time though nobody releases', async () => {
  for (const open of Object.values(stores)) {
    const limiter = open()
    const held = await limiter.hold(exports, 'ada')
    await assert.rejects(limiter.hold(exports, 'ada', { maxWaitMs: 200 }), (error) => {
      assert.ok(error.retryAfterMs > 50_000 && error.retryAfterMs <= 60_000)
      return error instanceof BlockedError
    })
    await held.release()
    await limiter.limit(short, 'bob')
    const info = await limiter.acquire(short, 'bob', { maxWaitMs: 60_000 })
    assert.ok(!info.blocked && info.waitMs > 100)
    await limiter.close()
  }
})
