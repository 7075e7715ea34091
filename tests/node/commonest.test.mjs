/** One unit, now: the commonest call takes a way of its own, and is answered like any other. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bucket,
  calendarWindow,
  decay,
  fixedWindow,
  LimitError,
  Limiter,
  legacy,
  StoreError,
  slidingCounter,
  slidingLog,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'tidegate'

const DAY = 86_400_000
/** None of them drains while a test runs. */
const LIMITS = [
  bucket({ key: 'bucket', size: 3, dripRate: DAY }),
  tokenBucket({ key: 'token-bucket', count: 3, period: 3 * DAY }),
  fixedWindow({ key: 'fixed-window', max: 3, period: 40 * DAY, anchor: 'first-request' }),
  slidingWindow({ key: 'sliding-window', max: 3, period: DAY, resolution: DAY / 2, countBlocked: true }),
  slidingCounter({ key: 'sliding-counter', max: 3, period: DAY }),
  slidingLog({ key: 'sliding-log', max: 3, period: DAY }),
  decay({ key: 'decay', max: 3, decayFactor: 2, resolution: DAY }),
  calendarWindow({ key: 'calendar-window', max: 3, unit: 'year' }),
  smooth({ key: 'smooth', rate: 1 / 86_400, maxBurst: 0 }),
  legacy({ key: 'two rules', max: 3, duration: DAY, minInterval: DAY / 8, translation: 'exact' }),
  legacy({ key: 'unlimited' }),
]
const TIMES = ['resetMs', 'fullResetMs', 'nextMs', 'waitMs']
/** The longest time between two calls of a test. */
const MEANWHILE = 60_000

/** The numbers of an answer and of its parts, but those that the clock moves. */
function steady(info) {
  const { blocked, remaining, key, quota, windowMs, binding, degraded, checks } = info
  const parts = checks.length > 1 ? checks.map(steady) : []
  return { blocked, remaining, key, quota, windowMs, binding, degraded, parts }
}

function assertAlike(info, other, what) {
  assert.deepEqual(steady(info), steady(other), what)
  for (const name of TIMES) assert.ok(Math.abs(info[name] - other[name]) < MEANWHILE, `${what}: ${name}`)
  assert.deepEqual(
    [info.resetSec, info.fullResetSec],
    [Math.ceil(info.resetMs / 1000), Math.ceil(info.fullResetMs / 1000)],
    what,
  )
}

test('it is answered as the same call is that says so, for every type of limit', async () => {
  for (const limit of LIMITS) {
    const ways = [
      (limiter) => limiter.limitSync(limit, 'ada'),
      (limiter) => limiter.limit(limit, 'ada'),
      (limiter) => limiter.limitSync({ ...limit }, 'ada'),
      (limiter) => limiter.limit(limit, 'ada', { cost: 1 }),
      (limiter) => limiter.limitSync(limit, 'ada', { cost: 1, factor: 1, now: Date.now() }),
    ]
    const limiters = ways.map(() => new Limiter())
    for (let call = 0; call < 6; call++) {
      const answers = []
      for (const [index, way] of ways.entries()) answers.push(await way(limiters[index]))
      for (const other of answers) assertAlike(answers[0], other, `${limit.key}, call ${call}`)
    }
    const entries = limiters.map((limiter) => limiter.entries)
    assert.deepEqual(new Set(entries).size, 1, `${limit.key}: ${entries}`)
  }
})

test('numbers on both sides of 32 bits come through exactly', () => {
  const limiter = new Limiter()
  for (const size of [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 10 ** 12]) {
    const limit = fixedWindow({ key: `size ${size}`, max: size, period: DAY, anchor: 'first-request' })
    for (let call = 1; call <= 3; call++) {
      const info = limiter.limitSync(limit, 'ada')
      assert.deepEqual([info.remaining, info.quota, info.blocked], [size - call, size, false], limit.key)
    }
  }
  for (const period of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 1]) {
    const limit = fixedWindow({ key: `period ${period}`, max: 1, period, anchor: 'first-request' })
    const info = limiter.limitSync(limit, 'ada')
    assert.deepEqual([info.windowMs, info.fullResetMs, info.resetMs], [period, period, period], limit.key)
    assert.equal(limiter.limitSync(limit, 'ada').blocked, true, limit.key)
  }
  const { remaining, quota } = limiter.limitSync(legacy({ key: 'unlimited' }), 'ada')
  assert.deepEqual([remaining, quota], [2 ** 53 - 1, 2 ** 53 - 1])
})

test('what it was charged can be given back', async () => {
  const limiter = new Limiter()
  const limit = bucket({ key: 'k', size: 10, dripRate: DAY })
  const info = await limiter.limit(limit, 'ada')
  assert.equal(limiter.limitSync(limit, 'ada').remaining, 8)
  assert.equal((await limiter.refund(info)).remaining, 9)
  assert.equal((await limiter.refund(info)).remaining, 9)
  assert.equal(limiter.settleSync(limiter.limitSync(limit, 'ada'), 5).remaining, 4)
})

test('an actor is who they are, wherever in the name a letter is not ASCII', () => {
  const limiter = new Limiter({ maxEntries: 1_000_000 })
  const once = bucket({ key: 'once', size: 1, dripRate: DAY })
  let actors = 0
  for (const length of [1, 2, 7, 8, 15, 16, 17, 20, 31, 32, 33, 48, 61, 62, 63, 64, 65]) {
    const name = 'a'.repeat(length)
    const names = [name]
    for (let at = 0; at < length; at++) {
      // The low byte of the first is "a", that of the second nothing; the third is one byte to V8 and two in UTF-8.
      for (const letter of ['\u0161', '\u0100', 'á', '\x7f'])
        names.push(name.slice(0, at) + letter + name.slice(at + 1))
    }
    for (const actor of names) assert.equal(limiter.limitSync(once, actor).blocked, false, JSON.stringify(actor))
    for (const actor of names) assert.equal(limiter.limitSync(once, actor).blocked, true, JSON.stringify(actor))
    actors += names.length
  }
  assert.equal(limiter.entries, actors)
})

test('an actor that is no text is refused, and so is everything once the limiter is closed', async () => {
  const limiter = new Limiter()
  const limit = bucket({ key: 'k', size: 10 })
  const wrong = (kind) => (error) =>
    error instanceof LimitError && error instanceof kind && error.key === 'k' && error.field === 'actor'
  for (const actor of [undefined, null, 5, true, {}, [], Symbol('a'), 1n, () => 1, new String('a')]) {
    assert.throws(() => limiter.limitSync(limit, actor), wrong(TypeError))
    await assert.rejects(limiter.limit(limit, actor), wrong(TypeError))
  }
  assert.equal(limiter.entries, 0)
  await limiter.close()
  assert.throws(() => limiter.limitSync(limit, 'ada'), StoreError)
  await assert.rejects(limiter.limit(limit, 'ada'), StoreError)
})
