/** Answers as receipts: what a call charged is given back or corrected, once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucket, LimitError, Limiter, slidingLog, slidingWindow, tokenBucket } from 'tidegate'

const size10 = bucket({ key: 'ten', size: 10 })
const used = (limiter, limit, now = 0) => {
  const info = limiter.peekSync(limit, 'ada', { now })
  return info.quota - info.remaining
}

test('a refund gives back what that very call charged, once', async () => {
  const limiter = new Limiter()
  const info = limiter.limitSync(size10, 'ada', { cost: 4, now: 0 })
  limiter.limitSync(size10, 'ada', { cost: 3, now: 0 })
  assert.equal(limiter.refundSync(info, { now: 0 }).remaining, 7)
  assert.equal((await limiter.refund(info, { now: 0 })).remaining, 7)
  assert.equal(limiter.settleSync(info, 10, { now: 0 }).remaining, 7)
})

test('however late it comes, it frees nothing that a later call charged', () => {
  const limiter = new Limiter()
  const info = limiter.limitSync(size10, 'ada', { cost: 4, now: 0 })
  limiter.limitSync(size10, 'ada', { cost: 10, now: 60_000 })
  limiter.refundSync(info, { now: 60_000 })
  assert.equal(used(limiter, size10, 60_000), 10)
  const half = limiter.limitSync(size10, 'eve', { cost: 4, now: 0 })
  limiter.limitSync(size10, 'eve', { cost: 5, now: 2000 })
  assert.equal(limiter.refundSync(half, { now: 2000 }).remaining, 5)
})

test('a settlement corrects the cost in both directions, once', async () => {
  const limiter = new Limiter()
  const less = limiter.limitSync(size10, 'ada', { cost: 6, now: 0 })
  assert.equal((await limiter.settle(less, 2, { now: 0 })).remaining, 8)
  assert.equal(limiter.settleSync(less, 6, { now: 0 }).remaining, 8)
  const more = limiter.chargeSync(size10, 'ada', { cost: 1, now: 0 })
  assert.equal(limiter.settleSync(more, 5, { now: 0 }).remaining, 3)
  const same = limiter.limitSync(size10, 'ada', { cost: 1, now: 0 })
  assert.equal(limiter.settleSync(same, 1, { now: 0 }).remaining, 2)
  assert.equal(limiter.refundSync(same, { now: 0 }).remaining, 2)
})

test('a late settlement leaves what the actual cost would have left', () => {
  const limiter = new Limiter()
  for (const [seconds, remaining] of [
    [0, 6],
    [3, 9],
    [4, 10],
    [7, 10],
    [60, 10],
  ]) {
    const info = limiter.limitSync(size10, `after ${seconds} s`, { cost: 8, now: 0 })
    assert.equal(limiter.settleSync(info, 4, { now: 1000 * seconds }).remaining, remaining)
  }
})

test('what one decision charged twice has drained once', () => {
  const limiter = new Limiter()
  const twice = (actor, costs) => costs.map((cost) => ({ limit: size10, actor, cost }))
  const info = limiter.limitAllSync(twice('ada', [4, 4]), { now: 0 })
  limiter.chargeSync(size10, 'ada', { cost: 5, now: 3000 })
  assert.equal(limiter.refundSync(info, { now: 3000 }).remaining, 5)
  const other = limiter.limitAllSync(twice('eve', [4, 5]), { now: 0 })
  assert.equal(limiter.settleSync(other, [4, 1], { now: 3000 }).remaining, 8)
})

test('checks that cost differently are settled one by one', () => {
  const limiter = new Limiter()
  const api = tokenBucket({ key: 'api', count: 100, period: 1000 })
  const checks = [
    { limit: size10, actor: 'ada', cost: 4 },
    { limit: api, actor: 'ada', cost: 40 },
  ]
  const info = limiter.limitAllSync(checks, { now: 0 })
  assert.throws(() => limiter.settleSync(info, 5), LimitError)
  assert.throws(() => limiter.settleSync(info, [5]), LimitError)
  const settled = limiter.settleSync(info, [5, 10], { now: 0 })
  assert.deepEqual([used(limiter, size10), used(limiter, api)], [5, 10])
  assert.deepEqual(
    settled.checks.map((check) => check.remaining),
    [5, 90],
  )
  const again = limiter.limitAllSync(checks, { now: 0 })
  limiter.refundSync(again, { now: 0 })
  assert.deepEqual([used(limiter, size10), used(limiter, api)], [5, 10])
})

test('what charged nothing has nothing to give back', () => {
  const limiter = new Limiter()
  limiter.limitSync(size10, 'ada', { cost: 8, now: 0 })
  const denied = limiter.limitSync(size10, 'ada', { cost: 5, now: 0 })
  const nothing = [
    limiter.peekSync(size10, 'ada', { now: 0 }),
    limiter.refundSync(size10, 'ada', { cost: 0, now: 0 }),
    denied,
  ]
  for (const info of nothing) {
    limiter.refundSync(info, { now: 0 })
    limiter.settleSync(info, 9, { now: 0 })
    assert.equal(used(limiter, size10), 8)
  }
})

test('a denial that was charged is given back', () => {
  const limiter = new Limiter()
  const strict = slidingWindow({ key: 'strict', max: 2, period: 1000, resolution: 100, countBlocked: true })
  limiter.limitSync(strict, 'ada', { cost: 2, now: 0 })
  const denied = limiter.limitSync(strict, 'ada', { now: 500 })
  assert.ok(denied.blocked)
  limiter.refundSync(denied, { now: 500 })
  assert.equal(limiter.peekSync(strict, 'ada', { now: 1100 }).remaining, 2)
})

test('an acquire that waited is a receipt as well', async () => {
  const limiter = new Limiter()
  const log = slidingLog({ key: 'log', max: 1, period: 50 })
  await limiter.acquire(log, 'ada')
  const info = await limiter.acquire(log, 'ada')
  assert.ok(info.waitMs > 0 && !info.blocked)
  assert.equal(limiter.refundSync(info).remaining, 1)
})

test('an answer of another limiter, a part of one, and what is none are refused', async () => {
  const limiter = new Limiter()
  const info = limiter.limitSync([size10, { key: 'b', type: 'bucket', size: 5 }], 'ada', { now: 0 })
  const other = new Limiter()
  const cases = [
    [() => other.refundSync(info), 'info'],
    [() => other.settleSync(info, 1), 'info'],
    [() => limiter.refundSync(info.checks[0]), 'info'],
    [() => limiter.settleSync(undefined, 1), 'info'],
    [() => limiter.settleSync({ ...info }, 1), 'info'],
    [() => limiter.refundSync(info, 'ada'), 'options'],
    [() => limiter.refundSync(info, { cost: 1 }), 'cost'],
    [() => limiter.settleSync(info), 'cost'],
    [() => limiter.settleSync(info, '1'), 'cost'],
    ...[Number.NaN, -1, 0.5, Infinity, 2 ** 53].map((cost) => [() => limiter.settleSync(info, cost), 'cost']),
  ]
  for (const [call, field] of cases) {
    assert.throws(call, (error) => error instanceof LimitError && error.field === field, `${call}`)
  }
  await assert.rejects(other.refund(info), LimitError)
  assert.equal(used(limiter, size10), 1)
  // None of them was the once.
  limiter.refundSync(info, { now: 0 })
  assert.equal(used(limiter, size10), 0)
})

test('a charge that is refused leaves the receipt as it was', () => {
  const limiter = new Limiter()
  const info = limiter.limitSync(size10, 'ada', { cost: 4, now: 0 })
  assert.throws(() => limiter.settleSync(info, 2 ** 53 - 1, { now: 0 }), LimitError)
  assert.equal(used(limiter, size10), 4)
  assert.equal(limiter.refundSync(info, { now: 0 }).remaining, 10)
})
