/** Answers as receipts: the sequences that all languages share, and what is JavaScript's own. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bucket, concurrency, LimitError, Limiter, slidingLog, slidingWindow, tokenBucket } from 'tidegate'
import { RedisServer } from './server.mjs'

const size10 = bucket({ key: 'ten', size: 10 })
const used = (limiter, limit, now = 0) => {
  const info = limiter.peekSync(limit, 'ada', { now })
  return info.quota - info.remaining
}
const { sequences } = JSON.parse(readFileSync(new URL('../vectors/receipts.json', import.meta.url), 'utf8'))
const server = await RedisServer.start()

/** Makes the calls of a sequence, as promises (`''`) or at once (`'Sync'`). */
async function play({ limits, steps }, limiter, how) {
  const receipts = {}
  for (const step of steps) {
    const { now, maxWaitMs } = step
    const call = (name) => limiter[`${name}${how}`].bind(limiter)
    const checks = step.checks?.map((check) => ({ ...check, limit: limits[check.limit] }))
    let info
    if (step.spent !== undefined) info = await call('settle')(receipts[step.use], step.spent, { now })
    else if (step.use) info = await call('refund')(receipts[step.use], { now })
    else if (checks.length > 1) info = await call('limitAll')(checks, { now })
    else {
      const [{ limit, actor, cost, factor }] = checks
      const options = { acquire: { cost, factor, now, maxWaitMs }, reset: {} }[step.call] ?? { cost, factor, now }
      info = await call(step.call)(limit, actor, options)
    }
    const compare = (info, want = {}) => {
      for (const [name, value] of Object.entries(want))
        assert.equal(info[name], value, `${name} in ${JSON.stringify(step)}`)
    }
    compare(info, step.want)
    step.each?.forEach((want, index) => {
      compare(info.checks[index], want)
    })
    if (step.receipt) receipts[step.receipt] = info
  }
}

test('the sequences that all languages share', async () => {
  assert.ok(sequences.length > 20)
  for (const [index, sequence] of sequences.entries()) {
    await play(sequence, new Limiter(), '')
    await play(sequence, new Limiter(), 'Sync')
    const shared = new Limiter(server.url, { namespace: `${index}`, timeoutMs: 10_000, onError: 'raise' })
    await play(sequence, shared, '')
    await shared.close()
  }
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

test('an acquire that waited is a receipt as well', async () => {
  const limiter = new Limiter()
  const log = slidingLog({ key: 'log', max: 1, period: 500 })
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
  // What went through JSON or a message is no receipt, and is not read as a limit either.
  for (const copy of [JSON.parse(JSON.stringify(info)), structuredClone(info)]) {
    await assert.rejects(limiter.refund(copy), {
      code: 'ERR_LIMIT',
      field: 'info',
      message: /of this limiter gave.*copy/,
    })
    assert.throws(() => limiter.settleSync(copy, 1), { field: 'info', message: /copy of one/ })
  }
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

test('a denied part that was charged is given back, and no more', async () => {
  const limiter = new Limiter()
  const window = (max) => slidingWindow({ key: 'codes', max, period: 60_000, resolution: 60_000, countBlocked: true })
  const [codes, wider] = [window(5), window(100)]
  limiter.limitSync(codes, 'ada', { cost: 5, now: 0 })
  for (const [spent, remaining] of [
    [0, 95],
    [1, 94],
    [4, 90],
  ]) {
    const denied = await limiter.limit(codes, 'ada', { cost: 20, atLeast: 2, now: 0 })
    assert.deepEqual([denied.blocked, denied.granted], [true, 0])
    limiter.settleSync(denied, spent, { now: 0 })
    assert.equal(limiter.peekSync(wider, 'ada', { now: 0 }).remaining, remaining)
  }
  const denied = limiter.limitSync([codes], 'ada', { cost: 20, atLeast: 2, now: 0 })
  limiter.refundSync(denied, { now: 0 })
  assert.equal(limiter.peekSync(wider, 'ada', { now: 0 }).remaining, 90)
})

test('a call that took what there was gives back what it got', async () => {
  const tokens = bucket({ key: 'tokens', size: 300 })
  for (const limiter of [
    new Limiter(),
    new Limiter(server.url, { namespace: 'took', timeoutMs: 10_000, onError: 'raise' }),
  ]) {
    const info = await limiter.limit(tokens, 'ada', { cost: 500, atLeast: 50, now: 0 })
    assert.deepEqual([info.granted, info.remaining], [300, 0])
    assert.equal((await limiter.settle(info, 120, { now: 0 })).remaining, 180)
    const second = await limiter.limit([tokens], 'ada', { cost: 500, atLeast: 50, now: 0 })
    assert.equal(second.granted, 180)
    assert.equal((await limiter.refund(second, { now: 0 })).remaining, 180)
    const denied = await limiter.limit(tokens, 'ada', { cost: 500, atLeast: 181, now: 0 })
    assert.deepEqual([denied.blocked, denied.granted, denied.resetMs], [true, 0, 1000])
    assert.equal((await limiter.limit(tokens, 'ada', { cost: 7, now: 0 })).granted, 7)
    const exports = concurrency({ key: 'exports', max: 3, lease: 60_000 })
    await limiter.limit(exports, 'ada', { cost: 3, now: 0 })
    const full = await limiter.limit(exports, 'ada', { cost: 2, atLeast: 1, now: 0 })
    for (const now of [1, 1e6]) assert.equal((await limiter.renew(full, { now })).blocked, true, `${now}`)
    await limiter.close()
  }
  const limiter = new Limiter()
  for (const atLeast of [0, -1, 1.5, 501, Number.NaN, '1', 2 ** 53 + 2]) {
    const wrong = (error) => error instanceof LimitError && error.field === 'atLeast' && error.key === 'tokens'
    assert.throws(() => limiter.limitSync(tokens, 'ada', { cost: 500, atLeast, now: 0 }), wrong, `${atLeast}`)
  }
  assert.throws(() => limiter.chargeSync(tokens, 'ada', { atLeast: 1 }), LimitError)
})
