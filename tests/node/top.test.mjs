/** The actors that a limiter denied and charged most. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucket, concurrency, LimitError, Limiter, StoreError } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const login = bucket({ key: 'login', size: 3, dripRate: 3_600_000 })
const all = bucket({ key: 'all', size: 100, dripRate: 3_600_000 })
const jobs = concurrency({ key: 'jobs', max: 1, lease: 60_000 })

const row = (actor, count, error = 0) => ({ actor, count, error })

for (const [name, url] of [
  ['in memory', 'memory://'],
  ['over a store', server.url],
]) {
  test(`calls count from the first look, ${name}`, async () => {
    const limiter = new Limiter(url, { timeoutMs: 5000, namespace: 'top', onError: 'raise' })
    await limiter.limit(all, 'before')
    assert.deepEqual(limiter.top(), { denied: [], charged: [] })
    for (let call = 0; call < 6; call++) await limiter.limit([login, all], 'ada')
    await limiter.peek(all, 'ada')
    await limiter.charge(all, 'eve', { cost: 4 })
    await limiter.hold(jobs, 'bob', {}, () => limiter.acquire(jobs, 'bob', { maxWaitMs: 0 }))
    assert.deepEqual(limiter.top(), {
      denied: [row('ada', 3), row('bob', 1)],
      charged: [row('ada', 6), row('eve', 4), row('bob', 1)],
    })
    assert.deepEqual(limiter.top(1), { denied: [row('ada', 3)], charged: [row('ada', 6)] })
    limiter.close()
    assert.throws(() => limiter.top(), StoreError)
  })
}

test('calls on the calling thread count', () => {
  const limiter = new Limiter()
  limiter.top()
  for (let call = 0; call < 5; call++) limiter.limitSync(login, 'ada')
  limiter.limitAllSync([
    { limit: login, actor: 'ada' },
    { limit: all, actor: 'bob' },
  ])
  assert.deepEqual(limiter.top(), { denied: [row('ada', 3)], charged: [row('ada', 3)] })
})

test('a flood of names takes a bounded number of rows', () => {
  const limiter = new Limiter()
  limiter.top()
  for (let call = 0; call < 2000; call++) limiter.limitSync(all, `ip:${call}`)
  limiter.limitSync(all, 'eve', { cost: 50 })
  const { charged } = limiter.top(10_000)
  // A minute may end in between.
  assert.ok(charged.length <= 512, String(charged.length))
  const { actor, count, error } = charged[0]
  assert.ok(actor === 'eve' && count >= 50 && count - error <= 50 && error <= 2050 / 256)
})

test('a count is a whole number', () => {
  for (const count of [-1, 0.5, Number.NaN, 2 ** 54, '3', null, true]) {
    assert.throws(
      () => new Limiter().top(count),
      (error) => error instanceof LimitError && error.field === 'count',
      String(count),
    )
  }
})
