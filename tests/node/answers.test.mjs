/** Exact answers to unusual but sound questions. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucket, Limiter, LimitInfo, legacy, tokenBucket } from 'tidegate'

test('actors that look alike are different, however long or strange', () => {
  const limiter = new Limiter()
  const once = bucket({ key: 'once', size: 1 })
  const long = 'x'.repeat(65_533)
  const actors = [
    '',
    ' ',
    '\0',
    '\0\0',
    'a',
    'A',
    'é',
    'e\u0301',
    '😀',
    '\ufffd',
    '\ufffd\ufffd',
    'ÿ',
    'Āÿ',
    '\u0100',
    '__proto__',
    'constructor',
  ]
  actors.push(
    ...[61, 62, 63, 64, 65, 127, 128].map((length) => 'y'.repeat(length)),
    `${'y'.repeat(62)}é`,
    long,
    `${long}é`,
    `${long}y`,
  )
  for (const actor of actors)
    assert.equal(limiter.limitSync(once, actor, { now: 0 }).blocked, false, actor.slice(0, 80))
  for (const actor of actors) assert.equal(limiter.limitSync(once, actor, { now: 0 }).blocked, true, actor.slice(0, 80))
  assert.equal(limiter.entries, actors.length)
  // A string that V8 keeps as pieces, or as a slice of another, is the same string.
  assert.equal(limiter.limitSync(once, ['', 'y'.repeat(64)].join(''), { now: 0 }).blocked, true)
  assert.equal(limiter.limitSync(once, `${long}z`.slice(0, -1), { now: 0 }).blocked, true)
})

test('a definition written in the call is one limit, and one that was changed is noticed', () => {
  const limiter = new Limiter()
  const remaining = (limit) => limiter.peekSync(limit, 'ada', { now: 0 }).remaining
  for (let call = 0; call < 3; call++) limiter.limitSync({ key: 'k', type: 'bucket', size: 10 }, 'ada', { now: 0 })
  const literal = { key: 'k', type: 'bucket', size: 10 }
  assert.equal(remaining(literal), 7)
  literal.size = 20
  assert.equal(remaining(literal), 17)
  literal.dripSize = undefined
  assert.equal(remaining(literal), 17)
  literal.sise = 5
  assert.throws(() => remaining(literal), /sise is not a field/)
  // The order of the fields says nothing.
  assert.equal(remaining({ size: 10, type: 'bucket', key: 'k' }), 7)
  let size = 30
  assert.equal(
    remaining({
      key: 'k',
      type: 'bucket',
      get size() {
        return size
      },
    }),
    27,
  )
  size = 40
  assert.equal(
    remaining({
      key: 'k',
      type: 'bucket',
      get size() {
        return size
      },
    }),
    37,
  )
  for (let variant = 1; variant <= 50; variant++)
    assert.equal(remaining({ ...literal, sise: undefined, size: 100 + variant }), 97 + variant)
  for (let key = 0; key < 5000; key++) assert.equal(remaining({ key: `k${key}`, type: 'bucket', size: 3 }), 3)
})

test('a checked definition is frozen, plain to read, and survives JSON', () => {
  const limiter = new Limiter()
  const api = tokenBucket({ key: 'api', count: 100, period: 1000, burst: undefined })
  assert.deepEqual({ ...api }, { key: 'api', count: 100, period: 1000, type: 'token-bucket' })
  assert.throws(() => {
    api.count = 5
  }, TypeError)
  limiter.limitSync(api, 'ada', { cost: 40, now: 0 })
  assert.equal(limiter.peekSync(JSON.parse(JSON.stringify(api)), 'ada', { now: 0 }).remaining, 60)
  assert.equal(limiter.peekSync({ ...api, count: 200 }, 'ada', { now: 0 }).quota, 200)
  assert.equal(bucket(bucket({ key: 'k', size: 1 })).size, 1)
})

test('several limits are all or nothing, and each answers for itself', () => {
  const limiter = new Limiter()
  const tight = bucket({ key: 'tight', size: 1 })
  const loose = { key: 'loose', type: 'bucket', size: 5 }
  const first = limiter.limitSync([loose, tight], 'ada', { now: 0 })
  assert.deepEqual([first.blocked, first.remaining, first.key, first.quota, first.binding], [false, 0, 'tight', 1, 1])
  assert.deepEqual(
    first.checks.map(({ key, remaining }) => [key, remaining]),
    [
      ['loose', 4],
      ['tight', 0],
    ],
  )
  const second = limiter.limitSync([loose, tight], 'ada', { now: 500 })
  assert.deepEqual([second.blocked, second.resetMs, second.key], [true, 500, 'tight'])
  assert.equal(limiter.peekSync(loose, 'ada', { now: 500 }).remaining, 4)
  limiter.resetSync([loose, tight], 'ada')
  assert.equal(limiter.entries, 0)
  const many = Array.from({ length: 100 }, (_, index) => ({
    limit: bucket({ key: `k${index}`, size: 200 - index }),
    actor: 'ada',
  }))
  const hundred = limiter.limitAllSync(many, { now: 0 })
  assert.deepEqual([hundred.checks.length, hundred.key, hundred.binding], [100, 'k99', 99])
})

test('a legacy limit of two rules has two answers, both under its key', () => {
  const limiter = new Limiter()
  const exact = legacy({ key: 'notes', max: 3, duration: 1000, minInterval: 100, translation: 'exact' })
  const alone = limiter.limitSync(exact, 'ada', { now: 0 })
  assert.deepEqual(
    alone.checks.map(({ key, quota }) => [key, quota]),
    [
      ['notes', 3],
      ['notes', 1],
    ],
  )
  assert.deepEqual([alone.key, alone.binding, alone.resetMs], ['notes', 1, 100])
  const other = bucket({ key: 'other', size: 2 })
  const checks = [
    { limit: exact, actor: 'bob' },
    { limit: other, actor: 'bob' },
    { limit: exact, actor: 'eve', factor: 0 },
  ]
  const { checks: each } = limiter.limitAllSync(checks, { now: 0 })
  assert.deepEqual(
    each.map(({ key, quota }) => [key, quota]),
    [
      ['notes', 3],
      ['notes', 1],
      ['other', 2],
      ['notes', Number.MAX_SAFE_INTEGER],
    ],
  )
})

test('options, factors and namespaces', () => {
  const limiter = new Limiter('memory://', { namespace: 'shop', maxEntries: 5 })
  const ten = bucket({ key: 'ten', size: 10 })
  assert.equal(limiter.limitSync(ten, 'a', { factor: 0.5, now: 0 }).quota, 20)
  assert.equal(limiter.limitSync(ten, 'b', { factor: 2, now: 0 }).remaining, 4)
  const free = limiter.limitSync(ten, 'c', { factor: 0, now: 0 })
  assert.deepEqual(
    [free.remaining, free.quota, free.fullResetMs],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0],
  )
  assert.equal(limiter.limitSync(ten, 'd', { cost: undefined, factor: undefined, now: 0 }).remaining, 9)
  assert.equal(limiter.limitSync(ten, 'd', { cost: 0, now: 0 }).remaining, 9)
  assert.equal(limiter.entries, 3)
  for (let actor = 0; actor < 100; actor++) limiter.limitSync(ten, `${actor}`, { now: 0 })
  assert.deepEqual([limiter.entries, limiter.evictions, limiter.overflowed], [4, 0, 99])
  assert.throws(() => {
    limiter.entries = 5
  }, TypeError)
})

test('an answer can be spread, logged and written as JSON', () => {
  const info = new Limiter().limitSync(bucket({ key: 'k', size: 2 }), 'ada', { now: 0 })
  const fields = {
    blocked: false,
    remaining: 1,
    resetMs: 0,
    resetSec: 0,
    fullResetMs: 1000,
    fullResetSec: 1,
    waitMs: 0,
    nextMs: 1000,
    key: 'k',
    actor: 'ada',
    quota: 2,
    windowMs: 2000,
    granted: 1,
    binding: 0,
    degraded: false,
  }
  assert.deepEqual({ ...info }, fields)
  assert.deepEqual(JSON.parse(JSON.stringify(info)), { ...fields, allowed: true })
  assert.deepEqual(info.checks, [info])
})

test('an answer names the actor of the check that decided', async () => {
  const limiter = new Limiter()
  const [login, api] = [bucket({ key: 'login', size: 2 }), bucket({ key: 'api', size: 9 })]
  const actors = (info) => [info, ...info.checks].map(({ actor }) => actor)
  assert.deepEqual(actors(limiter.limitSync(login, 'ada', { now: 0 })), ['ada', 'ada'])
  assert.deepEqual(actors(limiter.limitSync([login, api], 'ada')), ['ada', 'ada', 'ada'])
  assert.equal((await limiter.peek([api, login], 'eve', { now: 0 })).actor, 'eve')
  const checks = [
    { limit: api, actor: 'ada' },
    { limit: login, actor: 'eve' },
    { limit: api, actor: 'bob', cost: 5 },
  ]
  assert.deepEqual(actors(limiter.limitAllSync(checks, { now: 0 })), ['eve', 'ada', 'eve', 'bob'])
  assert.deepEqual(actors(await limiter.peekAll(checks.slice(0, 2), { now: 0 })), ['eve', 'ada', 'eve'])
  const many = Array.from({ length: 20 }, (_, at) => ({ limit: api, actor: `${at}`, cost: at === 7 ? 2 : 1 }))
  assert.equal((await limiter.limitAll(many, { now: 0 })).actor, '7')
  assert.equal(limiter.explainSync(login, 'ada', { now: 0 }).info.actor, 'ada')
  const exact = legacy({ key: 'notes', max: 3, duration: 1000, minInterval: 100, translation: 'exact' })
  assert.deepEqual(actors(limiter.limitSync(exact, 'ada', { now: 0 })), ['ada', 'ada', 'ada'])
  assert.deepEqual([new LimitInfo().actor, new LimitInfo({ actor: 'ada' }).toJSON().actor], ['', 'ada'])
  assert.throws(() => new LimitInfo({ actor: 5 }), /actor must be a string/)
  const info = limiter.limitSync(login, 'zoe', { now: 0 })
  assert.equal(limiter.refundSync(info, { now: 0 }).actor, 'zoe')
})

test('large numbers come through exactly', () => {
  const limiter = new Limiter()
  const large = bucket({ key: 'large', size: 1e12, dripRate: 3 })
  const info = limiter.limitSync(large, 'ada', { cost: 999_999_999_999, now: 9_007_199_254_740 })
  assert.deepEqual([info.remaining, info.fullResetMs, info.quota], [1, 2_999_999_999_997, 1e12])
})

test('the clock moves by itself', async () => {
  const limiter = new Limiter()
  const quick = bucket({ key: 'quick', size: 1, dripRate: 20 })
  let { blocked, resetMs } = await limiter.limit(quick, 'ada')
  assert.equal(blocked, false)
  // On a busy machine there may be a drip between two calls.
  for (let call = 0; call < 100 && !blocked; call++) ({ blocked, resetMs } = await limiter.limit(quick, 'ada'))
  assert.ok(blocked && resetMs > 0 && resetMs <= 20, `${resetMs}`)
  await new Promise((done) => setTimeout(done, resetMs + 1))
  assert.equal((await limiter.limit(quick, 'ada')).blocked, false)
})
